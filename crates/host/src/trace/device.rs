//! The devices of a trace: each ASU, LUN, disk, volume or file is a separate address space.
//!
//! Devices are numbered as they appear, chosen by name, and laid out in the natural order of names.

use crate::trace::format::contract::{Device, Format, shown};
use base::{Error, Result};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The devices of a file, numbered in the order in which they appear.
pub struct Devices {
    /// Names of the devices to keep; `None` keeps all.
    wanted: Option<Vec<String>>,
    /// Names of the kept devices, in the order of their appearance.
    names: Vec<String>,
    /// Names of the devices that were seen and not wanted, at most `NAMES_KEPT`.
    unwanted: Vec<String>,
    numbers: HashMap<u64, Option<u32>>,
    texts: HashMap<Vec<u8>, Option<u32>>,
    /// Last number or name that was looked up, with its index: traces have runs of one device.
    last_number: Option<(u64, Option<u32>)>,
    last_text: Option<(Vec<u8>, Option<u32>)>,
}

/// Most names of unwanted devices that are kept, for the error.
const NAMES_KEPT: usize = 1000;

impl Devices {
    /// Devices of a file before its first line; only those of `wanted` will be kept, where it is
    /// given.
    pub fn new(wanted: Option<Vec<String>>) -> Self {
        Self {
            wanted,
            names: Vec::new(),
            unwanted: Vec::new(),
            numbers: HashMap::new(),
            texts: HashMap::new(),
            last_number: None,
            last_text: None,
        }
    }

    /// Names of the kept devices, by index.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The index of a device, or `None` where it is not wanted.
    #[inline]
    pub fn index(&mut self, device: Device<'_>, format: &dyn Format) -> Option<u32> {
        match device {
            Device::Number(number) => {
                if let Some((last, index)) = self.last_number
                    && last == number
                {
                    return index;
                }
                let index = match self.numbers.get(&number) {
                    Some(&index) => index,
                    None => {
                        let index = self.enter(format.device_number(number));
                        self.numbers.insert(number, index);
                        index
                    }
                };
                self.last_number = Some((number, index));
                index
            }
            Device::Name(text) => {
                if let Some((last, index)) = &self.last_text
                    && last == text
                {
                    return *index;
                }
                let index = match self.texts.get(text) {
                    Some(&index) => index,
                    None => {
                        let index = self.enter(format.device_name(text));
                        self.texts.insert(text.to_vec(), index);
                        index
                    }
                };
                let (last, last_index) = self.last_text.get_or_insert_with(Default::default);
                last.clear();
                last.extend_from_slice(text);
                *last_index = index;
                index
            }
        }
    }

    /// Numbers a new device.
    fn enter(&mut self, name: String) -> Option<u32> {
        let is_wanted = self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&name));
        if !is_wanted {
            if self.unwanted.len() < NAMES_KEPT {
                self.unwanted.push(name);
            }
            return None;
        }
        self.names.push(name);
        u32::try_from(self.names.len() - 1).ok()
    }

    /// Refuses a wanted device that the file does not have.
    pub fn missing(&self) -> Result<()> {
        let Some(wanted) = &self.wanted else { return Ok(()) };
        let Some(missing) = wanted.iter().find(|name| !self.names.contains(name)) else {
            return Ok(());
        };
        let mut known: Vec<&str> =
            self.names.iter().chain(&self.unwanted).map(String::as_str).collect();
        known.sort_by(|a, b| natural_order(a, b));
        Err(Error::unknown("trace.device", "device", &shown(missing.as_bytes()), known))
    }
}

/// Order of names in which numbers count as numbers: `hm_2` before `hm_10`.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    loop {
        let (run_a, run_b) = (digits(a), digits(b));
        let order = if run_a > 0 && run_b > 0 {
            let value = |run: &[u8]| run.iter().position(|&byte| byte != b'0').unwrap_or(run.len());
            let (number_a, number_b) =
                (&a[value(&a[..run_a])..run_a], &b[value(&b[..run_b])..run_b]);
            let by_value = number_a.len().cmp(&number_b.len()).then_with(|| number_a.cmp(number_b));
            let order = by_value.then(run_a.cmp(&run_b));
            (a, b) = (&a[run_a..], &b[run_b..]);
            order
        } else {
            match (a.first(), b.first()) {
                (Some(byte_a), Some(byte_b)) => {
                    let order = byte_a.cmp(byte_b);
                    (a, b) = (&a[1..], &b[1..]);
                    order
                }
                (left, right) => return left.is_some().cmp(&right.is_some()),
            }
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_with_their_numbers() {
        let mut names = ["hm_10", "hm_2", "10", "9", "8,16", "8,2", "hm", "a"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["8,2", "8,16", "9", "10", "a", "hm", "hm_2", "hm_10"]);
    }
}
