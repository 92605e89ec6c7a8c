//! Placement handles of a job: fio's `dataplacement=fdp`, `plids` and `plid_select`.
//!
//! NVM Express calls this Flexible Data Placement. As in fio (`dataplacement.c`) a write names one
//! of the job's handles, by default all of the drive's in turn; reads and trims name none. A handle
//! is a stream of the drive: `ftl.host_streams` is their number. With several `ftl.reclaim_groups`
//! the numbers count the handles of the first group, then those of the next, as fio counts the
//! placement identifiers that a drive lists.

use crate::fio::plan::Setting;
use crate::fio::value::whole;
use base::rng::Rng;
use base::{Error, Result};
use ssd::ftl::{MOST_STREAMS, stream_of};

/// Handles of a job's writes, and the order of their use.
#[derive(Debug, Clone)]
pub struct Placement {
    /// Stream hints of the handles.
    pub handles: Vec<u8>,
    /// Whether handles are drawn at random instead of in turn.
    pub random: bool,
}

impl Placement {
    /// Placement of all writes under one handle.
    pub fn only(handle: u8) -> Self {
        Self { handles: vec![handle], random: false }
    }
}

/// Sequence of the handles that writes name.
pub struct Turns {
    handles: Vec<u8>,
    next: usize,
    rng: Option<Rng>,
}

impl Turns {
    /// Sequence of handles for a job; `rng` draws where they are random.
    pub fn new(placement: &Placement, rng: impl FnOnce() -> Rng) -> Self {
        let Placement { handles, random } = placement;
        Self { handles: handles.clone(), next: 0, rng: random.then(rng) }
    }

    /// Handle of the next write.
    #[inline]
    pub fn take(&mut self) -> u8 {
        if let [only] = self.handles[..] {
            return only;
        }
        let count = self.handles.len();
        let at = match &mut self.rng {
            Some(rng) => rng.below(count as u64) as usize,
            None => self.next,
        };
        self.next = if at + 1 == count { 0 } else { at + 1 };
        self.handles[at]
    }
}

/// Reads numbers and ranges, such as `1,3-5`.
pub fn list(text: &str) -> Result<Vec<u8>> {
    let most = u64::from(MOST_STREAMS) - 1;
    let mut handles = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (whole(from.trim(), 0, most)?, whole(to.trim(), 0, most)?);
        if from > to {
            return Err(Error::new("", format!("`{part}` ends before it begins"))
                .expected("handles and ranges of them, such as 0,2-4"));
        }
        handles.extend((from..=to).map(|handle| handle as u8));
    }
    if handles.len() > MOST_STREAMS as usize {
        return Err(Error::new("", format!("{} handles", handles.len()))
            .expected(format!("at most {MOST_STREAMS}")));
    }
    Ok(handles)
}

impl Setting<'_> {
    /// Placement of the job's writes: the handles of `plids`, or else all handles of the drive;
    /// without `dataplacement` the stream of its `write_hint`.
    pub fn placement(&self) -> Result<Placement> {
        let options = &self.given.options;
        if !options.fdp {
            return Ok(Placement::only(options.write_hint));
        }
        if options.write_hint > 0 {
            let problem = "given together with dataplacement=fdp".to_owned();
            return self.refuse("write_hint", problem, "one of the two".to_owned());
        }
        let random = options.random_plids;
        let stream = |handle: u8| stream_of(handle.into(), self.groups);
        if options.plids.is_empty() {
            let handles = (0..self.handles as u8).map(stream).collect();
            return Ok(Placement { handles, random });
        }
        if let Some(beyond) = options.plids.iter().find(|&&handle| handle >= self.handles as u8) {
            let problem = format!("the drive has no handle {beyond}");
            let expected = match self.handles {
                1 => "0".to_owned(),
                handles => format!("0 to {}", handles - 1),
            };
            return self.refuse("plids", problem, expected).map_err(|error| {
                error.hint(match self.groups {
                    1 => "ftl.host_streams is the number of handles",
                    _ => "ftl.reclaim_groups times ftl.host_streams is their number",
                })
            });
        }
        Ok(Placement { handles: options.plids.iter().copied().map(stream).collect(), random })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_take_turns_or_are_drawn() {
        let placement = Placement { handles: vec![4, 1, 7], random: false };
        let mut turns = Turns::new(&placement, || Rng::stream(1, "handles"));
        let taken: Vec<u8> = (0..7).map(|_| turns.take()).collect();
        assert_eq!(taken, [4, 1, 7, 4, 1, 7, 4]);
        let placement = Placement { random: true, ..placement };
        let mut turns = Turns::new(&placement, || Rng::stream(1, "handles"));
        let mut counts = [0; 8];
        (0..3000).for_each(|_| counts[turns.take() as usize] += 1);
        for (handle, count) in counts.into_iter().enumerate() {
            let expected = if [4, 1, 7].contains(&handle) { 900..1100 } else { 0..1 };
            assert!(expected.contains(&count), "{handle}: {count}");
        }
    }

    #[test]
    fn lists_hold_numbers_and_ranges() {
        assert_eq!(list("3"), Ok(vec![3]));
        assert_eq!(list("0, 2-4,1"), Ok(vec![0, 2, 3, 4, 1]));
        for text in ["", "x", "4-2", "16", "0-15,1", "1-", "-1", "1.5"] {
            assert!(list(text).is_err(), "{text}");
        }
    }
}
