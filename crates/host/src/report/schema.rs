//! The JSON Schema of the report, and keys that the engine leaves to its caller.

use super::Report;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::marker::PhantomData;

/// JSON Schema of a report. Keys that every report has are `required`, in the order of the structs;
/// the caller of the engine adds the others.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Report>().to_value();
    schema["title"] = "nandlab report".into();
    schema
}

/// Key of a report that the caller of the engine adds, with a value like `T`: the engine does not
/// know it, and leaves it out.
#[derive(Debug, Clone, Copy)]
pub struct ByCaller<T>(PhantomData<T>);

impl<T> ByCaller<T> {
    /// The key, left out by the engine.
    pub const LEFT_OUT: Self = Self(PhantomData);

    /// Whether the key is left out: always.
    pub(crate) fn is_left_out(&self) -> bool {
        true
    }
}

impl<T> Serialize for ByCaller<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<T: JsonSchema> JsonSchema for ByCaller<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
