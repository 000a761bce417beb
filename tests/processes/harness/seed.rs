//! Reproducible chance: a failing test has printed the seed it ran with.

/// A small generator of its own, so that a printed seed means the same for ever.
#[derive(Debug, Clone)]
pub struct Seed(u64);

impl Seed {
    /// A fresh seed, or the one named by `HELIX_TEST_SEED`; printed, so that a failure shows it.
    #[expect(
        clippy::print_stdout,
        reason = "shown by the harness of a test that fails"
    )]
    pub fn fresh() -> Self {
        let given = std::env::var("HELIX_TEST_SEED")
            .ok()
            .and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = std::time::UNIX_EPOCH.elapsed().unwrap();
            now.as_secs() << 20 ^ u64::from(now.subsec_nanos())
        });
        println!("HELIX_TEST_SEED={seed}");
        Self(seed | 1)
    }

    /// Another sequence, as chance wants it.
    pub fn fork(&mut self) -> Self {
        Self(self.next() | 1)
    }

    pub fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// From 0 up to, but not including, `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from((self.next() >> 16) % end as u64).unwrap()
    }
}
