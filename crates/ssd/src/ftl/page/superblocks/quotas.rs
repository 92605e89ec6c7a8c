//! Quotas of placement handles, `ftl.handle_quota`: the part of the spare that each may fill with
//! dead data.
//!
//! The spare is what remains of the superblocks beside those for the drive's data and those that
//! are kept free or open. A handle whose full superblocks hold more dead units than its quota is
//! collected whatever else is free. It opens no superblock before it is under its quota again. So a
//! handle has the over-provisioning of a drive of its own, and none takes that of another.

use crate::ftl::page::PageParams;
use base::{Error, Result};

/// Most dead units that the full superblocks of each handle may hold in a span of dies.
#[derive(Clone)]
pub(super) struct Quotas(Vec<u64>);

/// Refuses shares that are not one for each stream, that exceed the spare, or that streams without
/// blocks of their own would have.
pub(in crate::ftl::page) fn check(params: &PageParams) -> Result<()> {
    let PageParams { handle_quota: shares, host_streams, .. } = params;
    let refusal = |problem: String| Error::new("ftl.handle_quota", problem);
    if shares.is_empty() {
        return Ok(());
    }
    if !params.keeps_handles() {
        return Err(refusal(format!("{shares:?} without blocks of each stream's own"))
            .expected("an empty list")
            .hint("use ftl.isolation = \"persistent\" and two or more ftl.host_streams"));
    }
    if shares.len() != usize::from(*host_streams) {
        return Err(refusal(format!("{} shares", shares.len()))
            .expected(format!("{host_streams}, one for each of ftl.host_streams")));
    }
    if let Some(share) = shares.iter().find(|&&share| !(share > 0.0 && share <= 1.0)) {
        return Err(refusal(format!("{share} is out of range")).expected("more than 0, at most 1"));
    }
    let sum: f64 = shares.iter().sum();
    if sum > 1.0 + 1e-9 {
        return Err(refusal(format!("the shares are {sum} together")).expected("at most 1"));
    }
    Ok(())
}

impl Quotas {
    /// Quotas of a span that has `spare` superblocks of `set_units` units, of `superblocks` in all;
    /// `None` without. Refuses a share that is less than what collection needs to gain anything: a
    /// row of `row_units` units may be padded for each superblock that it empties.
    pub(super) fn new(
        params: &PageParams,
        spare: u32,
        superblocks: u32,
        set_units: u32,
        row_units: u32,
    ) -> Result<Option<Self>> {
        if params.handle_quota.is_empty() {
            return Ok(None);
        }
        let units = u64::from(spare) * u64::from(set_units);
        let least = u64::from(superblocks) * u64::from(row_units) + u64::from(set_units);
        let most_dead = |&share: &f64| {
            let quota = (share * units as f64) as u64;
            if quota >= least {
                return Ok(quota);
            }
            let sets = |units: u64| units as f64 / f64::from(set_units);
            let problem = format!("{share} is {:.1} of {spare} spare superblocks", sets(quota));
            Err(Error::new("ftl.handle_quota", problem)
                .expected(format!("at least {:.1} superblocks for each handle", sets(least)))
                .hint(
                    "use a larger ftl.overprovisioning, fewer streams or ftl.superblock_dies = 1",
                ))
        };
        Ok(Some(Self(params.handle_quota.iter().map(most_dead).collect::<Result<_>>()?)))
    }

    /// Number of handles that have quotas.
    pub(super) fn handles(&self) -> u32 {
        self.0.len() as u32
    }

    /// Dead units that a handle may hold in a span.
    pub(super) fn most_dead(&self, handle: u32) -> u64 {
        self.0[handle as usize]
    }
}
