//! Saved state of `page`: everything that does not follow from the configuration.

use super::PageFtl;
use base::Result;
use base::archive::{Archive, State};

impl State for PageFtl {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            geometry: _,
            joined: _,
            pages_per_program: _,
            row_units: _,
            logical_units: _,
            streams: _,
            host_streams: _,
            by_speed: _,
            skips_slow: _,
            fast_units: _,
            reduced,
            handles,
            placing,
            metadata: _,
            stripes: _,
            code_stages,
            metadata_units: _,
            gc_frontier: _,
            sorting,
            reserve: _,
            gc: _,
            pace: _,
            map,
            owner,
            candidates,
            wear,
            free,
            frontiers,
            groups: _,
            kinds: _,
            cache: _,
            next_group,
            next_die,
            collections,
            retirement,
            had_turn,
            clock,
            counts,
            short,
            evacuation: _,
            has_started_up,
        } = self;
        archive.table(map)?;
        archive.table(owner)?;
        code_stages.exchange(archive)?;
        candidates.exchange(archive)?;
        wear.exchange(archive)?;
        free.exchange(archive)?;
        archive.value(frontiers)?;
        archive.table(next_group)?;
        archive.value(next_die)?;
        archive.value(collections)?;
        if sorting.is_on() {
            archive.value(sorting)?;
        }
        archive.value(retirement)?;
        archive.value(had_turn)?;
        archive.value(clock)?;
        archive.value(counts)?;
        archive.value(short)?;
        if !reduced.blocks.is_empty() {
            archive.value(&mut reduced.blocks)?;
        }
        handles.exchange(archive)?;
        handles.count_again(candidates, wear);
        placing.exchange(archive)?;
        archive.value(has_started_up)
    }
}
