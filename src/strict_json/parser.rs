//! Recursive descent over a text that is known to be UTF-8; [`MAX_DEPTH`] bounds the recursion.

use serde_json::{Map, Value};

use super::StrictJsonFault as Fault;
use super::{MAX_DEPTH, MAX_STRING_BYTES, MAX_VALUES, StrictJsonError, number};

pub(super) struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    values: usize,
}

type Parsed<T> = Result<T, StrictJsonError>;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            values: 0,
        }
    }

    pub(super) fn document(mut self) -> Parsed<Value> {
        if self.text.starts_with('\u{feff}') {
            return Err(self.fault(Fault::ByteOrderMark));
        }
        self.skip_white_space();
        let value = self.value(0)?;
        self.skip_white_space();
        if self.at < self.bytes.len() {
            return Err(self.fault(Fault::TrailingText));
        }
        Ok(value)
    }

    /// One value inside `depth` containers.
    fn value(&mut self, depth: usize) -> Parsed<Value> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.fault(Fault::TooManyValues));
        }
        match self.peek() {
            Some(b'{' | b'[') if depth == MAX_DEPTH => Err(self.fault(Fault::TooDeep)),
            Some(b'{') => self.object(depth + 1).map(Value::Object),
            Some(b'[') => self.array(depth + 1).map(Value::Array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            _ => Err(self.unexpected()),
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<Map<String, Value>> {
        self.at += 1;
        let mut members = Map::new();
        self.skip_white_space();
        if self.take(b'}') {
            return Ok(members);
        }
        loop {
            self.skip_white_space();
            let place = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let key = self.string()?;
            if members.contains_key(&key) {
                return Err(StrictJsonError {
                    fault: Fault::DuplicateKey,
                    offset: place,
                });
            }
            self.skip_white_space();
            self.require(b':')?;
            self.skip_white_space();
            let value = self.value(depth)?;
            members.insert(key, value);
            self.skip_white_space();
            if self.take(b'}') {
                return Ok(members);
            }
            self.require(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> Parsed<Vec<Value>> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_white_space();
        if self.take(b']') {
            return Ok(items);
        }
        loop {
            self.skip_white_space();
            items.push(self.value(depth)?);
            self.skip_white_space();
            if self.take(b']') {
                return Ok(items);
            }
            self.require(b',')?;
        }
    }

    fn string(&mut self) -> Parsed<String> {
        let opened = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self
                .peek()
                .is_some_and(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
            {
                self.at += 1;
            }
            // A run ends before an ASCII byte or at the end, both of which are boundaries.
            out.push_str(&self.text[start..self.at]);
            if out.len() > MAX_STRING_BYTES {
                return Err(StrictJsonError {
                    fault: Fault::StringTooLong,
                    offset: opened,
                });
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(0) => return Err(self.fault(Fault::Nul)),
                Some(_) => return Err(self.fault(Fault::ControlCharacter)),
                None => return Err(self.fault(Fault::UnexpectedEnd)),
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let place = self.at;
        self.at += 1;
        let Some(byte) = self.peek() else {
            return Err(self.fault(Fault::UnexpectedEnd));
        };
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' => Ok(char::from(byte)),
            b'b' => Ok('\u{8}'),
            b'f' => Ok('\u{c}'),
            b'n' => Ok('\n'),
            b'r' => Ok('\r'),
            b't' => Ok('\t'),
            b'u' => self.code_point(place),
            _ => Err(StrictJsonError {
                fault: Fault::BadEscape,
                offset: place,
            }),
        }
    }

    /// The character of a `\u` escape whose backslash stands at `place`.
    fn code_point(&mut self, place: usize) -> Parsed<char> {
        let lone = StrictJsonError {
            fault: Fault::LoneSurrogate,
            offset: place,
        };
        let unit = self.hex4()?;
        match unit {
            0 => Err(StrictJsonError {
                fault: Fault::Nul,
                offset: place,
            }),
            0xD800..=0xDBFF => {
                if !(self.take(b'\\') && self.take(b'u')) {
                    return Err(lone);
                }
                let low = self.hex4()?;
                if !(0xDC00..=0xDFFF).contains(&low) {
                    return Err(lone);
                }
                char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)).ok_or(lone)
            }
            _ => char::from_u32(unit).ok_or(lone),
        }
    }

    fn hex4(&mut self) -> Parsed<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(byte) = self.peek() else {
                return Err(self.fault(Fault::UnexpectedEnd));
            };
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(self.fault(Fault::BadEscape));
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Parsed<Value> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        number::exact(&self.text[start..self.at])
            .map(Value::Number)
            .ok_or(StrictJsonError {
                fault: Fault::InexactNumber,
                offset: start,
            })
    }

    fn digits(&mut self) -> Parsed<()> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.unexpected());
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn literal(&mut self, word: &str, value: Value) -> Parsed<Value> {
        for byte in word.bytes() {
            self.require(byte)?;
        }
        Ok(value)
    }

    fn skip_white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    fn require(&mut self, byte: u8) -> Parsed<()> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn unexpected(&self) -> StrictJsonError {
        let ended = self.at >= self.bytes.len();
        self.fault(if ended {
            Fault::UnexpectedEnd
        } else {
            Fault::Unexpected
        })
    }

    fn fault(&self, fault: Fault) -> StrictJsonError {
        StrictJsonError {
            fault,
            offset: self.at,
        }
    }
}
