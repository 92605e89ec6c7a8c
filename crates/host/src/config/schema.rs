//! JSON Schema of drive files, derived from the structs and the rosters.

use super::fit_facts::FitFacts;
use super::sections::join;
use base::family::{Member, schema as schema_of};
use base::params::{Table, quantity};
use ecc::model::EccConfig;
use nand::level::LevelsConfig;
use serde_json::{Map, Value, json};
use ssd::config::SsdConfig;
use ssd::ftl::FtlConfig;
use ssd::gc::GcConfig;
use ssd::recovery::RecoveryConfig;
use std::sync::LazyLock;

/// A family of which the tables of a drive choose a member.
pub(crate) struct Family {
    /// Path of the family's table.
    pub path: &'static str,
    /// Key that names the member.
    pub selector: &'static str,
    /// Decision that the family makes, in one line.
    summary: &'static str,
    /// Parameters that all members share, as properties of JSON Schema.
    pub shared: Map<String, Value>,
    /// Types of the shared parameters, by their names.
    definitions: Map<String, Value>,
    /// Facts of the members, in the order of the roster.
    pub members: Vec<Facts>,
}

/// Facts of a member: name, summary, citation, parameters.
pub(crate) struct Facts {
    pub name: &'static str,
    summary: &'static str,
    pub citation: &'static str,
    /// Parameters of this member alone, as properties of JSON Schema.
    pub own: Map<String, Value>,
    /// Definitions of the types that these refer to.
    definitions: Map<String, Value>,
}

/// All families that the tables of a drive choose from.
pub(crate) static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let none = || json!({});
    vec![
        family("chip.array", "name", "Bit errors of a read", none(), nand::array::ROSTER),
        family(
            "ftl",
            "name",
            "Flash translation layer: where data are stored",
            schema_of::<FtlConfig>(),
            ssd::ftl::ROSTER,
        ),
        family(
            "gc",
            "name",
            "Victim selection of garbage collection",
            schema_of::<GcConfig>(),
            ssd::gc::ROSTER,
        ),
        family("scheduler", "name", "Order of flash commands", none(), ssd::scheduler::ROSTER),
        family("retry", "name", "Read retry after a failed decoding", none(), ssd::retry::ROSTER),
        family(
            "recovery",
            "name",
            "Start-up after a power cut: what is written for it, and read then",
            schema_of::<RecoveryConfig>(),
            ssd::recovery::ROSTER,
        ),
        family(
            "ecc",
            "model",
            "Error correction: outcome of decoding",
            schema_of::<EccConfig>(),
            ecc::model::ROSTER,
        ),
    ]
});

fn family<F>(
    path: &'static str,
    selector: &'static str,
    summary: &'static str,
    mut shared: Value,
    roster: &'static [Member<F>],
) -> Family {
    let members = roster
        .iter()
        .map(|member| {
            let mut schema = (member.schema)();
            Facts {
                name: member.name,
                summary: member.summary,
                citation: member.citation,
                own: take(&mut schema, "properties"),
                definitions: take(&mut schema, "$defs"),
            }
        })
        .collect();
    let definitions = take(&mut shared, "$defs");
    let shared = take(&mut shared, "properties");
    Family { path, selector, summary, shared, definitions, members }
}

fn take(schema: &mut Value, key: &str) -> Map<String, Value> {
    match schema.get_mut(key).map(Value::take) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

impl Family {
    /// Finds the member called `name`.
    pub fn member(&self, name: &str) -> Option<&Facts> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Schema of the family's table: one alternative for each member.
    fn schema(&self) -> Value {
        let alternatives: Vec<Value> = self
            .members
            .iter()
            .map(|member| {
                let mut properties = self.shared.clone();
                properties.extend(member.own.clone());
                properties.insert(self.selector.to_owned(), json!({ "const": member.name }));
                json!({
                    "title": member.name,
                    "description": member.summary,
                    "properties": properties,
                    "additionalProperties": false,
                })
            })
            .collect();
        let names: Vec<&str> = self.members.iter().map(|member| member.name).collect();
        json!({
            "description": self.summary,
            "type": "object",
            "properties": { self.selector: { "enum": names } },
            "anyOf": alternatives,
        })
    }
}

/// JSON Schema of a drive file: the sections of [`SsdConfig`] with the families spelled out from
/// their rosters, and the keys that compose files. No key is required: a preset may supply any.
/// `of_files` adds forms that only files hold: texts such as `"2MiB"` in place of numbers, and the
/// facts of a chip's fit.
pub fn schema(of_files: bool) -> Value {
    let mut schema = PLAIN.clone();
    if of_files {
        quantity::allow_units(&mut schema);
        let mut fit = plain(schema_of::<FitFacts>());
        fit["description"] = json!("What the fit that made this chip says of itself; no effect");
        let holder = definition_of(&schema, "chip");
        schema["$defs"][&holder]["properties"]["fit"] = fit;
    }
    schema
}

/// Schema of a drive file without units and without the facts of a fit.
pub(super) static PLAIN: LazyLock<Value> = LazyLock::new(plain_schema);

fn plain_schema() -> Value {
    let mut root = schema_of::<SsdConfig>();
    drop_required(&mut root);
    root["title"] = json!("nandlab drive");
    for family in FAMILIES.iter() {
        let (holder, key) = match family.path.split_once('.') {
            Some((section, key)) => (definition_of(&root, section), key),
            None => (String::new(), family.path),
        };
        let holder = if holder.is_empty() { &mut root } else { &mut root["$defs"][&holder] };
        holder["properties"][key] = family.schema();
        let of_members = family.members.iter().flat_map(|member| &member.definitions);
        for (name, definition) in family.definitions.iter().chain(of_members) {
            root["$defs"][name] = definition.clone();
        }
    }
    if let Some(family) = FAMILIES.iter().find(|family| family.path == "ecc") {
        let mut own = family.schema();
        own["description"] = json!("Error correction of these chips; default: that of `ecc`");
        root["$defs"]["ChipKind"]["properties"]["ecc"] = own;
    }
    for section in ["chip", "host"] {
        let holder = definition_of(&root, section);
        root["$defs"][&holder]["properties"]["preset"] =
            preset(section, "is the base of this section");
    }
    let cell = cell_schema(&mut root);
    let holder = definition_of(&root, "chip");
    root["$defs"][&holder]["properties"]["cell"] = cell;
    let properties = &mut root["properties"];
    properties["summary"] = json!({ "type": "string", "description": "One-line description" });
    properties["cite"] = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "Keys of params/CITATIONS.bib",
    });
    properties["drive_preset"] = preset("drive", "is the base of this file");
    properties["run"] = json!({ "type": "object", "description": "Workload or trace of a run" });
    drop_required(&mut root);
    root
}

/// Paths of the keys that a drive must have and `table` lacks. Of a chip that is missing as a whole
/// only the preset is named, which gives the rest.
pub(crate) fn missing(table: &Table) -> Vec<String> {
    let root = schema_of::<SsdConfig>();
    let mut found = Vec::new();
    add_missing(&root, &root, Some(table), "", &mut found);
    found
}

fn add_missing(
    root: &Value,
    node: &Value,
    table: Option<&Table>,
    prefix: &str,
    found: &mut Vec<String>,
) {
    let required = node["required"].as_array().map_or(&[][..], Vec::as_slice);
    for (key, inner) in node["properties"].as_object().into_iter().flatten() {
        let path = join(prefix, key);
        let given = table.and_then(|table| table.get(key));
        if given.is_none() && !required.iter().any(|name| name == key) {
            continue;
        }
        let target = inner.get("$ref").and_then(Value::as_str);
        let target = target.and_then(|path| root.pointer(path.strip_prefix('#')?)).unwrap_or(inner);
        let own = given.and_then(toml::Value::as_table);
        if let Some(family) = FAMILIES.iter().find(|family| family.path == path) {
            if !own.is_some_and(|own| own.contains_key(family.selector)) {
                found.push(join(&path, family.selector));
            }
        } else if given.is_none() && path == "chip" {
            found.push("chip.preset".to_owned());
        } else if given.is_none() && target.get("properties").is_none() {
            found.push(path);
        } else if given.is_none() || own.is_some() {
            add_missing(root, target, own, &path, found);
        }
    }
}

/// Schema of a chip's cell: its levels, and a table for each mechanism of the roster.
fn cell_schema(root: &mut Value) -> Value {
    let mut levels = schema_of::<LevelsConfig>();
    let mut definitions = take(&mut levels, "$defs");
    let mut properties = Map::new();
    properties.insert("preset".into(), preset("cell", "is the base of this section"));
    properties.insert("levels".into(), plain(levels));
    for member in nand::cell::ROSTER {
        let mut own = (member.schema)();
        definitions.extend(take(&mut own, "$defs"));
        own["description"] = json!(member.summary);
        properties.insert(member.name.into(), plain(own));
    }
    for (name, definition) in definitions {
        root["$defs"][name] = definition;
    }
    json!({
        "description": "The cell, if its physics is known; omitted mechanisms are off",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Removes the parts of a schema that only a whole document has.
fn plain(mut schema: Value) -> Value {
    if let Some(map) = schema.as_object_mut() {
        map.remove("$schema");
        map.remove("title");
    }
    schema
}

/// Name of the definition that a section of the root refers to.
fn definition_of(root: &Value, section: &str) -> String {
    let property = &root["properties"][section];
    let reference = property.get("$ref").and_then(Value::as_str).unwrap_or_default();
    reference.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Schema of the name of a preset: any string, since it may be a path; the names are examples.
fn preset(kind: &str, role: &str) -> Value {
    json!({
        "type": "string",
        "examples": crate::config::preset::names(kind),
        "description": format!("A {kind} preset, or the path of a TOML file, that {role}"),
    })
}

fn drop_required(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("required").is_some_and(Value::is_array) {
                map.remove("required");
            }
            map.values_mut().for_each(drop_required);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_required),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_every_member_with_its_parameters() {
        let schema = schema(false);
        for family in FAMILIES.iter() {
            let table = match family.path.split_once('.') {
                Some((section, key)) => {
                    &schema["$defs"][definition_of(&schema, section)]["properties"][key]
                }
                None => &schema["properties"][family.path],
            };
            let names = table["properties"][family.selector]["enum"].as_array().unwrap();
            let alternatives = table["anyOf"].as_array().unwrap();
            assert_eq!((names.len(), alternatives.len()), (family.members.len(), names.len()));
            for (member, alternative) in family.members.iter().zip(alternatives) {
                assert!(names.contains(&json!(member.name)), "{}", member.name);
                assert_eq!(alternative["title"], member.name);
                for key in family.shared.keys().chain(member.own.keys()) {
                    assert!(alternative["properties"].get(key).is_some(), "{} {key}", member.name);
                }
            }
        }
        let members = schema["properties"]["gc"]["anyOf"].as_array().unwrap();
        let d_choices = members.iter().find(|member| member["title"] == "d_choices").unwrap();
        let d = &d_choices["properties"]["d"];
        assert_eq!((&d["type"], &d["default"]), (&json!("integer"), &json!(10)), "{d}");
    }

    #[test]
    fn references_lead_somewhere_and_nothing_is_required() {
        fn references<'a>(value: &'a Value, out: &mut Vec<&'a str>) {
            match value {
                Value::Object(map) => {
                    out.extend(map.get("$ref").and_then(Value::as_str));
                    assert!(!map.get("required").is_some_and(Value::is_array), "{map:?}");
                    map.values().for_each(|inner| references(inner, out));
                }
                Value::Array(items) => items.iter().for_each(|inner| references(inner, out)),
                _ => {}
            }
        }
        let schema = schema(false);
        let mut found = Vec::new();
        references(&schema, &mut found);
        assert!(found.len() > 5);
        for reference in found {
            let path = reference.strip_prefix('#').unwrap();
            assert!(schema.pointer(path).is_some(), "{reference}");
        }
        for key in ["preset", "geometry", "timing", "array"] {
            let chip = &schema["$defs"][definition_of(&schema, "chip")]["properties"];
            assert!(chip.get(key).is_some(), "{key}");
        }
        let kind = &schema["$defs"]["ChipKind"]["properties"];
        assert_eq!(kind["ecc"]["anyOf"], schema["properties"]["ecc"]["anyOf"]);
        for key in ["drive_preset", "summary", "cite", "run", "seed"] {
            assert!(schema["properties"].get(key).is_some(), "{key}");
        }
    }
}
