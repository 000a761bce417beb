//! stub
pub const SAMPLE_DOCUMENTS: &[(&str, &[u8])] = &[];
