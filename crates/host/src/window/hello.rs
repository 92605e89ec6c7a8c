//! Hello: what a page must know to draw a drive.

use super::calls;
use super::frame::{Cells, LAYERS, SCALARS, SECTIONS};
use super::look::Look;
use crate::config;
use crate::report::config_hash;
use crate::run::tails::recent::bounds_ns;
use base::Result;
use serde_json::{Map, Value, json};
use ssd::blame::CAUSE_NAMES;
use ssd::conflicts::Feature;
use ssd::drive::blocks::{BlockState, DIE_STATES, Origin};
use ssd::precondition::Precondition;
use ssd::request::Op;
use ssd::timeline::SPAN_NAMES;

/// Names of the tracks of a timeline, by their numbers.
const TRACKS: [&str; 6] = ["host", "channel", "die", "decoder", "encoder", "exchange"];

impl Look<'_> {
    /// Facts of the session: the drive, its job, and what a frame holds.
    pub fn hello(&mut self) -> Result<Value> {
        let session = &self.session;
        let (loaded, ssd) = (&session.loaded, &session.run.ssd);
        let (config, geometry) = (&loaded.config, ssd.geometry());
        let goal = Precondition::ALL.iter().find(|(_, goal)| *goal == self.precondition);
        let jobs = session.run.jobs().map(|view| view.job.name.clone());
        let notices = loaded.notices().into_iter().chain(session.notices.iter().cloned());
        Ok(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "name": self.name,
            "title": loaded.summary,
            "geometry": {
                "channels": config.drive.channels,
                "dies": geometry.dies,
                "planes": geometry.planes_per_die,
                "blocks_per_plane": geometry.blocks_per_plane,
                "blocks": geometry.blocks(),
                "pages_per_block": geometry.pages_per_block,
                "page_bytes": geometry.units_per_page * geometry.unit_bytes,
                "units_per_page": geometry.units_per_page,
                "unit_bytes": geometry.unit_bytes,
            },
            "capacity_bytes": ssd.capacity_bytes(),
            "config": config,
            "config_hash": config_hash(config)?,
            "is_used": self.is_used,
            "job": self.job,
            "trace": self.trace,
            "jobs": if self.job.is_some() { jobs.collect() } else { Vec::new() },
            "seed": config.seed,
            "precondition": goal.map(|(name, _)| *name),
            "scalars": SCALARS.iter().map(|scalar| json!({
                "name": scalar.name, "unit": scalar.unit, "label": scalar.label,
            })).collect::<Vec<_>>(),
            "sections": SECTIONS.iter().map(|section| json!({
                "id": section.id, "type": section.element.name(), "name": section.name,
                "unit": section.unit, "meaning": section.meaning, "layer": Value::Null,
            })).chain(LAYERS.iter().map(|layer| json!({
                "id": layer.id, "type": layer.element.name(), "name": layer.name,
                "unit": layer.unit, "meaning": layer.meaning, "layer": layer.name,
            }))).collect::<Vec<_>>(),
            "layers": LAYERS.iter().enumerate().map(|(number, layer)| {
                let told = json!({
                    "bit": number, "unit": layer.unit, "range": layer.range,
                    "meaning": layer.meaning,
                });
                (layer.name.to_owned(), told)
            }).collect::<Map<_, _>>(),
            "die_states": coded(DIE_STATES.iter().copied()),
            "block_states": coded(BlockState::ALL.iter().map(|state| state.name())),
            "block_kinds": coded(Origin::ALL.iter().map(|origin| origin.name())),
            "blocks_per_cell": Cells::of(geometry).each,
            "latency_bounds_ns": bounds_ns().collect::<Vec<_>>(),
            "causes": CAUSE_NAMES.as_slice(),
            "operations": Op::ALL.map(Op::name),
            "span_names": SPAN_NAMES.as_slice(),
            "tracks": TRACKS,
            "features": ssd.features().all().map(Feature::name).collect::<Vec<_>>(),
            "acts": self.offers(),
            "notices": notices.collect::<Vec<_>>(),
        }))
    }
}

/// Names with their numbers.
fn coded<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Value> {
    names.enumerate().map(|(code, name)| json!({ "code": code, "name": name })).collect()
}

/// Presets of a kind, or all of them.
pub(super) fn presets(call: calls::Presets) -> Value {
    let all = config::presets().into_iter();
    let wanted = all.filter(|preset| call.kind.as_deref().is_none_or(|kind| kind == preset.kind));
    wanted
        .map(
            |preset| json!({ "kind": preset.kind, "name": preset.name, "summary": preset.summary }),
        )
        .collect()
}
