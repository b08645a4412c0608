//! The table as an OpenAPI 3.1 document: what each route takes and gives, from the same types that the program uses.

use axum::response::Response;
use posse_protocol::schemas;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::call::Verb;
use crate::exchange::{PROBLEM, json as answer};
use crate::failure::{CallErrorKind, ProblemDocument};
use crate::frames::EVENT_STREAM;
use crate::routes::{ROUTES, Route};

/// Where it is served.
pub(crate) const PATH: &str = "/openapi.json";

/// The document as a response.
pub(crate) fn response() -> Response {
    answer(&document())
}

/// The document.
pub fn document() -> Value {
    let here = |settings: &mut SchemaSettings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    };
    // What is read may leave more out than what is written.
    let mut read = SchemaSettings::draft2020_12().with(here).into_generator();
    let mut written = schemas::written().with(here).into_generator();
    let problem = written.subschema_for::<ProblemDocument>();
    let mut operations = Vec::new();
    for route in ROUTES {
        operations.push((route, request(&mut read, route), answers(&mut written, route, &problem)));
    }
    let (read, written) = (read.take_definitions(true), written.take_definitions(true));
    let differs = |name: &String| written.get(name).is_some_and(|other| Some(other) != read.get(name));
    let renamed: Vec<String> = read.keys().filter(|name| differs(name)).cloned().collect();
    let mut all = written.clone();
    for (name, schema) in &read {
        let name = if renamed.contains(name) { format!("{name}Request") } else { name.clone() };
        all.insert(name, referring(schema.clone(), &renamed));
    }
    let mut paths = Map::new();
    for (route, request, answers) in operations {
        let verb = route.verb.method().as_str().to_lowercase();
        let mut operation = referring(request, &renamed);
        operation["responses"] = answers;
        paths.entry(route.path).or_insert_with(|| json!({}))[verb] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Posse",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Sessions of agents on this machine: shown, followed and steered.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": all,
        },
    })
}

/// A schema that refers to other names of these definitions.
fn referring(value: Value, renamed: &[String]) -> Value {
    match value {
        Value::Object(fields) => {
            let one = |(name, value): (String, Value)| {
                let target =
                    value.as_str().filter(|_| name == "$ref").and_then(|path| path.rsplit('/').next());
                match target.filter(|target| renamed.iter().any(|name| name == target)) {
                    Some(target) => (name, format!("#/components/schemas/{target}Request").into()),
                    None => (name, referring(value, renamed)),
                }
            };
            Value::Object(fields.into_iter().map(one).collect())
        }
        Value::Array(values) => values.into_iter().map(|value| referring(value, renamed)).collect(),
        other => other,
    }
}

/// What a route takes.
fn request(generator: &mut SchemaGenerator, route: &Route) -> Value {
    let request = whole(generator, route.request);
    let told = text(&request, "description");
    let mut parameters = Vec::new();
    if route.path.contains("{session}") {
        parameters.push(json!({
            "name": "session", "in": "path", "required": true, "description": "The session's id.",
            "schema": { "type": "string", "format": "uuid" },
        }));
    }
    let mut operation = json!({
        "operationId": route.name,
        "summary": told.split(['.', ':']).next().unwrap_or_default(),
        "description": told,
    });
    match route.verb {
        Verb::Get => parameters.extend(query(&request)),
        Verb::Post => {
            let schema = (route.request)(generator);
            let content = json!({ "application/json": { "schema": schema } });
            let required =
                request.get("required").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
            operation["requestBody"] = json!({ "required": required, "content": content });
        }
    }
    operation["parameters"] = parameters.into();
    operation
}

/// What a route answers.
fn answers(generator: &mut SchemaGenerator, route: &Route, problem: &Schema) -> Value {
    let schema = (route.answer)(generator).to_value();
    let (media_type, schema) = match route.streams {
        // A schema describes one frame, not a stream of them.
        true => (EVENT_STREAM, json!({ "type": "string" })),
        false => ("application/json", schema),
    };
    let mut answers = json!({
        "200": { "description": "The answer.", "content": { media_type: { "schema": schema } } },
    });
    for kind in CallErrorKind::ALL {
        let status = kind.status();
        let words = status.canonical_reason().unwrap_or("An error");
        answers[status.as_str()] =
            json!({ "description": words, "content": { PROBLEM: { "schema": problem } } });
    }
    answers
}

/// A schema with all that it refers to at its top.
fn whole(generator: &mut SchemaGenerator, schema: fn(&mut SchemaGenerator) -> Schema) -> Value {
    let mut found = schema(generator).to_value();
    while let Some(name) = found.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
    {
        match generator.definitions().get(name) {
            Some(definition) => found = definition.clone(),
            None => break,
        }
    }
    found
}

/// The fields of a query string.
fn query(request: &Value) -> Vec<Value> {
    let required = request.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let fields = request.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let parameter = |(name, schema): (String, Value)| {
        json!({
            "name": name, "in": "query", "required": required.contains(&Value::from(name.as_str())),
            "description": text(&schema, "description"), "schema": without_null(schema),
        })
    };
    fields.into_iter().map(parameter).collect()
}

/// A query string has no null: what is missing is missing.
fn without_null(mut schema: Value) -> Value {
    if let Some(kinds) = schema.get("type").and_then(Value::as_array).cloned() {
        let kinds: Vec<Value> = kinds.into_iter().filter(|kind| kind != "null").collect();
        schema["type"] = match kinds.as_slice() {
            [one] => one.clone(),
            _ => kinds.into(),
        };
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|name, value| !(name == "default" && value.is_null()));
    }
    schema
}

fn text(schema: &Value, name: &str) -> String {
    schema.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
