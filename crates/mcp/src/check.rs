//! Checks arguments against a tool's schema before they are sent, so that a mistake is told with what is expected. It knows the
//! keywords that tools use; about others the server has the last word.

use std::cell::Cell;

use posse_protocol::visible::one_line;
use serde_json::Value;

/// How deep schemas may refer to themselves.
const DEPTH_MAX: usize = 24;
/// Comparisons of one check: a schema can be written so that there would be no end of them.
const STEPS_MAX: usize = 20_000;

/// What is wrong with arguments.
pub(crate) fn check(schema: &Value, arguments: &Value) -> Result<(), String> {
    Checker { root: schema, steps: Cell::new(0) }.check(schema, arguments, "", 0)
}

struct Checker<'a> {
    root: &'a Value,
    steps: Cell<usize>,
}

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
        let schema = self.resolved(schema);
        self.steps.set(self.steps.get() + 1);
        if depth > DEPTH_MAX || self.steps.get() > STEPS_MAX || !schema.is_object() {
            return Ok(());
        }
        kind(schema, value, at)?;
        if let Some(options) = schema.get("enum").and_then(Value::as_array)
            && !options.contains(value)
        {
            let shown = options.iter().take(20).map(Value::to_string).collect::<Vec<_>>().join(", ");
            return Err(format!("{} has to be one of {}", name(at), one_line(&shown, 300)));
        }
        if let Some(only) = schema.get("const")
            && only != value
        {
            return Err(format!("{} has to be {}", name(at), one_line(&only.to_string(), 100)));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(options) = schema.get(key).and_then(Value::as_array) {
                let tried = options.iter().map(|option| self.check(option, value, at, depth + 1));
                let wrong = tried.collect::<Vec<_>>();
                if !wrong.is_empty() && wrong.iter().all(Result::is_err) {
                    return wrong.into_iter().next().unwrap_or(Ok(()));
                }
            }
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.check(part, value, at, depth + 1)?;
        }
        self.fields(schema, value, at, depth)?;
        if let (Some(items), Some(all)) = (schema.get("items"), value.as_array()) {
            for (index, one) in all.iter().enumerate() {
                self.check(items, one, &format!("{at}[{index}]"), depth + 1)?;
            }
        }
        Ok(())
    }

    fn fields(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
        let Some(object) = value.as_object() else { return Ok(()) };
        let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
        for needed in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            if let Some(needed) = needed.as_str().filter(|needed| !object.contains_key(*needed)) {
                return Err(format!("{} is missing", name(&below(needed))));
            }
        }
        let known = schema.get("properties").and_then(Value::as_object);
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
            && schema.get("patternProperties").is_none();
        for (key, value) in object {
            let needed = |key: &String| {
                let all = schema.get("required").and_then(Value::as_array);
                all.is_some_and(|all| all.iter().any(|one| one == key))
            };
            match known.and_then(|known| known.get(key)) {
                // Models send nothing in this way, too.
                Some(_) if value.is_null() && !needed(key) => {}
                Some(field) => self.check(field, value, &below(key), depth + 1)?,
                None if closed => {
                    let known = known.into_iter().flatten().map(|(key, _)| key.as_str()).collect::<Vec<_>>();
                    return Err(format!(
                        "{} is not known; there are: {}",
                        name(&below(key)),
                        known.join(", ")
                    ));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// What a reference within the schema leads to.
    fn resolved<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        for _ in 0..DEPTH_MAX {
            let Some(path) =
                schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'))
            else {
                return schema;
            };
            match self.root.pointer(path) {
                Some(target) => schema = target,
                None => return &Value::Null,
            }
        }
        &Value::Null
    }
}

/// Whether a value is of the kind that is wanted.
fn kind(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        _ => true,
    };
    let wanted: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    match wanted.is_empty() || wanted.iter().any(|kind| is(kind)) {
        true => Ok(()),
        false => Err(format!("{} has to be {}", name(at), wanted.join(" or "))),
    }
}

fn name(at: &str) -> String {
    if at.is_empty() { "the whole".to_owned() } else { format!("`{}`", one_line(at, 100)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn mistakes_are_told_with_what_is_expected() {
        let schema = json!({
            "type": "object", "required": ["title"], "additionalProperties": false,
            "properties": {
                "title": {"type": "string"},
                "state": {"enum": ["open", "closed"]},
                "labels": {"type": "array", "items": {"type": "string"}},
                "who": {"$ref": "#/$defs/who"},
                "id": {"anyOf": [{"type": "integer"}, {"type": "null"}]}
            },
            "$defs": {"who": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "boss": {"$ref": "#/$defs/who"}}}}
        });
        let cases = [
            (json!({"title": "x", "state": "open", "labels": ["a"], "who": {"name": "n"}, "id": null}), None),
            (json!({"title": "x", "id": 3.0}), None),
            (json!({}), Some("`title` is missing")),
            (json!([]), Some("the whole has to be object")),
            (json!({"title": 1}), Some("`title` has to be string")),
            (json!({"title": "x", "state": "half"}), Some("`state` has to be one of \"open\", \"closed\"")),
            (json!({"title": "x", "labels": ["a", 2]}), Some("`labels[1]` has to be string")),
            (json!({"title": "x", "who": {"name": "n", "boss": {}}}), Some("`who.boss.name` is missing")),
            (json!({"title": "x", "id": "no"}), Some("`id` has to be integer")),
            (
                json!({"title": "x", "tilte": 1}),
                Some("`tilte` is not known; there are: title, state, labels, who, id"),
            ),
        ];
        for (arguments, wrong) in cases {
            assert_eq!(check(&schema, &arguments).err().as_deref(), wrong, "{arguments}");
        }
    }

    #[test]
    fn schemas_of_strangers_do_not_hang() {
        let circle = json!({"$ref": "#/a", "a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}});
        assert_eq!(check(&circle, &json!({})), Ok(()));
        let nested = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
        assert_eq!(check(&nested, &json!({})), Ok(()));
        for schema in
            [json!(true), json!(null), json!({"type": 7, "required": {}, "properties": []}), json!([])]
        {
            assert_eq!(check(&schema, &json!({"a": 1})), Ok(()));
        }
    }
}
