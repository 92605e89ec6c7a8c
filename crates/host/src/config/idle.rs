//! Notices of keys of a drive that change nothing, or that act all the time.

use ssd::config::{SsdConfig, ThermalLimit};
use toml::Value;

/// Notice of reduced levels that no stream has.
pub(super) fn reduced(config: &SsdConfig) -> Option<String> {
    let streams = config.ftl.params.get("reduced_streams").and_then(Value::as_array);
    let has_levels = config.kinds().iter().any(|(_, chip)| chip.reduced.is_some());
    let is_used = streams.is_some_and(|streams| !streams.is_empty()) || config.own_ftl.is_some();
    (has_levels && !is_used).then(|| {
        "chip.reduced changes nothing: no stream has reduced levels (ftl.reduced_streams)"
            .to_owned()
    })
}

/// Notices of limits of the temperature that act from the start on, and for ever.
pub(super) fn limits(config: &SsdConfig) -> Vec<String> {
    let Some(thermal) = config.power.as_ref().and_then(|power| power.thermal.as_ref()) else {
        return Vec::new();
    };
    let ambient = thermal.ambient_c;
    let notice = |(name, limit): (&String, &ThermalLimit)| {
        let (key, celsius, then) = match limit {
            limit if limit.from_c <= ambient => {
                ("from_c", limit.from_c, "is throttled all the time")
            }
            limit if limit.until_c <= ambient => {
                ("until_c", limit.until_c, "stays throttled once it is")
            }
            _ => return None,
        };
        Some(format!(
            "power.thermal.limits.{name}.{key} = {celsius} is not above the surroundings, \
             power.thermal.ambient_c = {ambient}: the drive {then}"
        ))
    };
    thermal.limits.iter().filter_map(notice).collect()
}
