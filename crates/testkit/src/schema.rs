//! Checks JSON against a JSON schema, as far as our schemas go. It knows the keywords that schemars writes for our types and
//! panics at any other, so that nothing passes because nobody looked at it. It must not know the types.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that allow and forbid nothing. A format is not checked.
const WORDS: &[&str] = &["$schema", "$defs", "title", "description", "default", "format"];
/// Keywords that hold a schema, schemas in a list, and schemas by name.
const ONE: &[&str] = &["items", "additionalProperties", "propertyNames"];
const SEVERAL: &[&str] = &["prefixItems", "oneOf", "anyOf", "allOf"];
const NAMED: &[&str] = &["properties", "$defs"];

/// A schema that holds no keyword but those that are checked.
pub struct KnownSchema {
    root: Value,
}

impl KnownSchema {
    /// Panics at a keyword that nobody checks, wherever in the schema it is.
    pub fn new(schema: impl Into<Value>) -> Self {
        let root = schema.into();
        must_be_known(&root);
        Self { root }
    }

    /// What is wrong with a value, each with its place as a JSON pointer.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        self.found(value).wrong
    }

    /// The places of all properties of a value that the schema says nothing about. It accepts them, as most schemas do, and
    /// does not describe what they are.
    pub fn undescribed(&self, value: &Value) -> Vec<String> {
        let found = self.found(value);
        let mut silent = Vec::new();
        let mut open = vec![(String::new(), value)];
        while let Some((at, value)) = open.pop() {
            if found.whole.contains(&at) {
                continue;
            }
            for (key, value) in children(value) {
                let at = below(&at, &key);
                if !found.described.contains(&at) {
                    silent.push(at.clone());
                }
                open.push((at, value));
            }
        }
        silent
    }

    fn found(&self, value: &Value) -> Found {
        let mut found = Found::default();
        self.check(&self.root, value, "", &mut found);
        found
    }
}

fn must_be_known(schema: &Value) {
    let Value::Object(keywords) = schema else {
        assert!(schema.is_boolean(), "{schema} is not a schema");
        return;
    };
    for (keyword, told) in keywords {
        let name = keyword.as_str();
        let list = || told.as_array().unwrap_or_else(|| panic!("{name} of {schema} is not a list"));
        match name {
            _ if ONE.contains(&name) => must_be_known(told),
            _ if SEVERAL.contains(&name) => list().iter().for_each(must_be_known),
            _ if NAMED.contains(&name) => children(told).iter().for_each(|(_, one)| must_be_known(one)),
            _ => assert!(WORDS.contains(&name) || rule(name).is_some(), "nobody checks {name} of {schema}"),
        }
    }
}

/// What is known of a value, as far as it was looked at.
#[derive(Default)]
struct Found {
    wrong: Vec<String>,
    /// Properties and elements that a schema tells about.
    described: BTreeSet<String>,
    /// Places where everything is allowed.
    whole: BTreeSet<String>,
}

impl Found {
    fn say(&mut self, at: &str, what: impl std::fmt::Display) {
        self.wrong.push(format!("{}: {what}", if at.is_empty() { "/" } else { at }));
    }

    fn learn(&mut self, other: Self) {
        self.described.extend(other.described);
        self.whole.extend(other.whole);
    }
}

/// A keyword that looks at the value alone: gives what is wrong.
type Rule = fn(told: &Value, value: &Value) -> Option<String>;

fn rule(keyword: &str) -> Option<Rule> {
    Some(match keyword {
        "type" => has_type,
        "const" => |told, value| (told != value).then(|| format!("{value} is not {told}")),
        "enum" => |told, value| (!list(told).contains(value)).then(|| format!("{value} is none of {told}")),
        "required" => lacks,
        "minimum" => |told, value| Some(value.as_f64()?).filter(|n| *n < number(told)).map(|n| less(n, told)),
        "maximum" => |told, value| Some(value.as_f64()?).filter(|n| *n > number(told)).map(|n| more(n, told)),
        "minLength" => |told, value| chars(value).filter(|n| *n < number(told)).map(|n| less(n, told)),
        "maxLength" => |told, value| chars(value).filter(|n| *n > number(told)).map(|n| more(n, told)),
        "minItems" => |told, value| items(value).filter(|n| *n < number(told)).map(|n| less(n, told)),
        "maxItems" => |told, value| items(value).filter(|n| *n > number(told)).map(|n| more(n, told)),
        "uniqueItems" => has_twice,
        // Looked up in the whole schema.
        "$ref" => |_, _| None,
        _ => return None,
    })
}

fn has_type(told: &Value, value: &Value) -> Option<String> {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => panic!("{name} is not a type"),
    };
    let fits = told.as_array().map_or_else(|| is(told), |types| types.iter().any(is));
    (!fits).then(|| format!("{value} is not of type {told}"))
}

fn lacks(told: &Value, value: &Value) -> Option<String> {
    let object = value.as_object()?;
    let missing = list(told).iter().filter_map(Value::as_str).find(|key| !object.contains_key(*key))?;
    Some(format!("{missing} is missing"))
}

fn has_twice(told: &Value, value: &Value) -> Option<String> {
    let elements = value.as_array().filter(|_| *told == Value::Bool(true))?;
    let twice = elements.iter().enumerate().find(|(place, one)| elements[..*place].contains(one))?;
    Some(format!("{} is there twice", twice.1))
}

fn less(number: f64, told: &Value) -> String {
    format!("{number} is less than {told}")
}

fn more(number: f64, told: &Value) -> String {
    format!("{number} is more than {told}")
}

fn number(told: &Value) -> f64 {
    told.as_f64().unwrap_or_else(|| panic!("{told} is not a number"))
}

fn list(told: &Value) -> &Vec<Value> {
    told.as_array().unwrap_or_else(|| panic!("{told} is not a list"))
}

fn chars(value: &Value) -> Option<f64> {
    Some(value.as_str()?.chars().count() as f64)
}

fn items(value: &Value) -> Option<f64> {
    Some(value.as_array()?.len() as f64)
}

impl KnownSchema {
    fn check(&self, schema: &Value, value: &Value, at: &str, found: &mut Found) {
        let keywords = match schema {
            Value::Bool(false) => return found.say(at, "nothing is allowed here"),
            Value::Object(keywords) => keywords,
            _ => &Map::new(),
        };
        if keywords.keys().all(|keyword| WORDS.contains(&keyword.as_str())) {
            found.whole.insert(at.to_owned());
            return;
        }
        for (keyword, told) in keywords {
            if let Some(wrong) = rule(keyword).and_then(|rule| rule(told, value)) {
                found.say(at, wrong);
            }
            match keyword.as_str() {
                "$ref" => self.check(self.meant(told), value, at, found),
                "allOf" => list(told).iter().for_each(|one| self.check(one, value, at, found)),
                "anyOf" => self.choose(list(told), value, at, found, false),
                "oneOf" => self.choose(list(told), value, at, found, true),
                _ => {}
            }
        }
        self.check_inside(keywords, value, at, found);
    }

    /// The schema that a reference means.
    fn meant(&self, reference: &Value) -> &Value {
        let pointer = reference.as_str().and_then(|reference| reference.strip_prefix('#'));
        let meant = pointer.and_then(|pointer| self.root.pointer(pointer));
        meant.unwrap_or_else(|| panic!("{reference} leads nowhere"))
    }

    fn choose(&self, schemas: &[Value], value: &Value, at: &str, found: &mut Found, only_one: bool) {
        let tried = |schema: &Value| {
            let mut found = Found::default();
            self.check(schema, value, at, &mut found);
            found
        };
        // Those with another tag cannot fit: looking into them takes long, and what they lack tells nobody anything.
        let tagged = schemas.iter().filter(|schema| !has_other_tag(schema, value)).collect::<Vec<_>>();
        let chosen = if tagged.is_empty() { schemas.iter().collect() } else { tagged };
        let tried = chosen.into_iter().map(tried);
        let (fitting, others): (Vec<_>, Vec<_>) = tried.partition(|found| found.wrong.is_empty());
        match fitting.len() {
            // What it was probably meant to be tells most.
            0 => match others.into_iter().min_by_key(|found| found.wrong.len()) {
                Some(nearest) => found.wrong.extend(nearest.wrong),
                None => found.say(at, "there is nothing to choose from"),
            },
            several if several > 1 && only_one => found.say(at, format!("{several} schemas fit, not one")),
            _ => fitting.into_iter().for_each(|one| found.learn(one)),
        }
    }

    /// Properties and elements.
    fn check_inside(&self, keywords: &Map<String, Value>, value: &Value, at: &str, found: &mut Found) {
        let value_is_object = value.is_object();
        let (named, others, first) = match value {
            Value::Object(_) => ("properties", "additionalProperties", None),
            Value::Array(_) => ("", "items", keywords.get("prefixItems").map(list)),
            _ => return,
        };
        for (place, (key, value)) in children(value).into_iter().enumerate() {
            let by_name = keywords.get(named).and_then(|schemas| schemas.get(&key));
            let by_place = first.and_then(|schemas| schemas.get(place));
            if let Some(schema) = by_name.or(by_place).or_else(|| keywords.get(others)) {
                let at = below(at, &key);
                self.check(schema, value, &at, found);
                found.described.insert(at);
            }
            if let Some(schema) = keywords.get("propertyNames").filter(|_| value_is_object) {
                self.check(schema, &Value::String(key), at, found);
            }
        }
    }
}

/// Whether a property of the value is not the constant that the schema wants there.
fn has_other_tag(schema: &Value, value: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut tags = properties.filter_map(|(key, one)| Some((value.get(key)?, one.get("const")?)));
    tags.any(|(here, wanted)| here != wanted)
}

/// What is directly in a value, by the keys or places.
fn children(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(object) => object.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
        _ => Vec::new(),
    }
}

fn below(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use serde_json::json;

    use super::*;

    /// A schema, values that fit, and values that do not, with what is told.
    type Case = (Value, Vec<Value>, Vec<(Value, &'static str)>);

    fn cases_of_values() -> Vec<Case> {
        vec![
            (json!(true), vec![json!(null), json!({"a": [1]})], vec![]),
            (json!(false), vec![], vec![(json!(1), "/: nothing is allowed here")]),
            (json!({"type": "null"}), vec![json!(null)], vec![(json!(0), "/: 0 is not of type \"null\"")]),
            (
                json!({"type": "boolean"}),
                vec![json!(true)],
                vec![(json!(0), "/: 0 is not of type \"boolean\"")],
            ),
            (json!({"type": "string"}), vec![json!("")], vec![(json!(0), "/: 0 is not of type \"string\"")]),
            (json!({"type": "array"}), vec![json!([])], vec![(json!({}), "/: {} is not of type \"array\"")]),
            (
                json!({"type": "object"}),
                vec![json!({})],
                vec![(json!([]), "/: [] is not of type \"object\"")],
            ),
            (
                json!({"type": "number"}),
                vec![json!(1), json!(-0.5)],
                vec![(json!("1"), "/: \"1\" is not of type \"number\"")],
            ),
            (
                json!({"type": "integer", "format": "uint64"}),
                vec![json!(1), json!(-1), json!(u64::MAX), json!(2.0)],
                vec![
                    (json!(0.5), "/: 0.5 is not of type \"integer\""),
                    (json!(null), "/: null is not of type \"integer\""),
                ],
            ),
            (
                json!({"type": ["string", "null"]}),
                vec![json!("a"), json!(null)],
                vec![(json!(true), "/: true is not of type [\"string\",\"null\"]")],
            ),
            (json!({"const": "a"}), vec![json!("a")], vec![(json!("b"), "/: \"b\" is not \"a\"")]),
            (
                json!({"enum": ["a", null]}),
                vec![json!("a"), json!(null)],
                vec![(json!("b"), "/: \"b\" is none of [\"a\",null]")],
            ),
            (json!({"minimum": 0}), vec![json!(0), json!("-1")], vec![(json!(-1), "/: -1 is less than 0")]),
            (json!({"maximum": 255}), vec![json!(255)], vec![(json!(256), "/: 256 is more than 255")]),
            (json!({"minLength": 2}), vec![json!("ää")], vec![(json!("ä"), "/: 1 is less than 2")]),
            (
                json!({"maxLength": 1}),
                vec![json!("ä"), json!(12)],
                vec![(json!("ab"), "/: 2 is more than 1")],
            ),
        ]
    }

    fn cases_of_parts() -> Vec<Case> {
        vec![
            (json!({"minItems": 1}), vec![json!([0]), json!("")], vec![(json!([]), "/: 0 is less than 1")]),
            (json!({"maxItems": 1}), vec![json!([0])], vec![(json!([0, 0]), "/: 2 is more than 1")]),
            (
                json!({"uniqueItems": true}),
                vec![json!([0, 1]), json!(0)],
                vec![(json!([0, 1, 0]), "/: 0 is there twice")],
            ),
            (
                json!({"items": {"type": "string"}}),
                vec![json!(["a"]), json!([]), json!(0)],
                vec![(json!(["a", 0]), "/1: 0 is not of type \"string\"")],
            ),
            (
                json!({"prefixItems": [{"const": 1}], "items": {"const": 2}}),
                vec![json!([1, 2, 2]), json!([])],
                vec![(json!([2]), "/0: 2 is not 1"), (json!([1, 1]), "/1: 1 is not 2")],
            ),
            (json!({"required": ["a"]}), vec![json!({"a": null})], vec![(json!({}), "/: a is missing")]),
            (
                json!({"properties": {"a/b": {"type": "null"}}}),
                vec![json!({"a/b": null, "c": 0}), json!({})],
                vec![(json!({"a/b": 0}), "/a~1b: 0 is not of type \"null\"")],
            ),
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                vec![json!({"a": 0})],
                vec![(json!({"b": 0}), "/b: nothing is allowed here")],
            ),
            (
                json!({"additionalProperties": {"type": "integer"}}),
                vec![json!({"b": 0})],
                vec![(json!({"b": ""}), "/b: \"\" is not of type \"integer\"")],
            ),
            (
                json!({"propertyNames": {"const": "a"}}),
                vec![json!({"a": 0}), json!({}), json!(["b"])],
                vec![(json!({"a": 0, "b": 0}), "/: \"b\" is not \"a\"")],
            ),
        ]
    }

    fn cases_of_choices() -> Vec<Case> {
        vec![
            (
                json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}),
                vec![json!(1)],
                vec![(json!(0), "/: 0 is less than 1"), (json!(3), "/: 3 is more than 2")],
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"minLength": 2}]}),
                vec![json!("a"), json!("ab"), json!(0)],
                vec![],
            ),
            (json!({"anyOf": []}), vec![], vec![(json!(0), "/: there is nothing to choose from")]),
            (
                json!({"oneOf": [{"type": "string"}, {"minLength": 2}]}),
                vec![json!("a"), json!(0)],
                vec![(json!("ab"), "/: 2 schemas fit, not one")],
            ),
            (
                json!({"oneOf": [
                    {"required": ["a", "b"], "properties": {"a": {"const": 1}}},
                    {"required": ["a"], "properties": {"a": {"const": 2}, "b": {"type": "null"}}},
                ]}),
                vec![json!({"a": 2})],
                // Not that `a` is another one and `b` is missing.
                vec![(json!({"a": 3}), "/a: 3 is not 2")],
            ),
            (
                json!({"$ref": "#/$defs/Tree", "$defs": {"Tree": {"items": {"$ref": "#/$defs/Tree"}, "type": "array"}}}),
                vec![json!([[], [[]]])],
                vec![(json!([[], [0]]), "/1/0: 0 is not of type \"array\"")],
            ),
            (
                json!({"type": "array", "items": {"$ref": "#"}}),
                vec![json!([[]])],
                vec![(json!([0]), "/0: 0 is not of type \"array\"")],
            ),
        ]
    }

    #[test]
    fn every_keyword_rejects_what_does_not_fit() {
        let mut seen = BTreeSet::new();
        let cases = [cases_of_values(), cases_of_parts(), cases_of_choices()].concat();
        for (schema, fitting, others) in cases {
            for value in fitting {
                assert_eq!(
                    KnownSchema::new(schema.clone()).violations(&value),
                    [""; 0],
                    "{value} by {schema}"
                );
            }
            for (value, told) in others {
                assert_eq!(
                    KnownSchema::new(schema.clone()).violations(&value),
                    [told],
                    "{value} by {schema}"
                );
                seen.extend(children(&schema).into_iter().map(|(keyword, _)| keyword));
            }
        }
        let rules =
            "type const enum required minimum maximum minLength maxLength minItems maxItems uniqueItems $ref";
        let known = rules.split(' ').chain(ONE.iter().chain(SEVERAL).chain(NAMED).copied());
        let missing = known.filter(|keyword| !seen.contains(*keyword)).collect::<Vec<_>>();
        assert_eq!(missing, [""; 0], "keywords without a value that they reject");
    }

    #[test]
    fn what_is_not_known_panics_wherever_it_is() {
        let cases = [
            json!({"pattern": "^a"}),
            json!({"not": {}}),
            json!({"patternProperties": {}}),
            json!({"unevaluatedProperties": false}),
            json!({"propertyNames": {"pattern": "a"}}),
            json!({"if": true}),
            json!({"properties": {"a": {"multipleOf": 2}}}),
            json!({"items": {"pattern": "a"}}),
            json!({"oneOf": [true, {"anyOf": [{"pattern": "a"}]}]}),
            json!({"$defs": {"Nobody": {"pattern": "a"}}}),
            json!({"additionalProperties": 1}),
            json!({"prefixItems": true}),
            json!({"$ref": "#/$defs/Nobody"}),
            json!({"type": "text"}),
            json!("string"),
        ];
        for schema in cases {
            assert!(
                catch_unwind(|| KnownSchema::new(schema.clone()).violations(&json!({}))).is_err(),
                "{schema} was accepted"
            );
        }
    }

    #[test]
    fn what_nobody_describes_is_found() {
        let schema = json!({
            "properties": {
                "any": {"description": "Anything."},
                "list": {"items": {"properties": {"a": {"type": "null"}}}},
                "map": {"additionalProperties": {"type": "integer"}},
                "one": {"oneOf": [
                    {"properties": {"b": {"const": 1}}, "required": ["b"]},
                    {"properties": {"c": {"type": "null"}}, "required": ["c"]},
                ]},
            }
        });
        let value = json!({
            "any": {"a": {"b": 1}},
            "list": [{"a": null, "x": 1}],
            "map": {"b": 1},
            "one": {"c": null, "b": 0},
            "y": 1,
        });
        assert_eq!(KnownSchema::new(schema.clone()).violations(&value), [""; 0]);
        assert_eq!(KnownSchema::new(schema).undescribed(&value), ["/y", "/one/b", "/list/0/x"]);
    }
}
