//! Schemas say exactly what serde reads and writes: over the fixtures of events and views, samples of every other type that
//! calls have or will have, and each of these changed in one place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use posse_api::calls::servers::{FillPrompt, FilledPrompt, ServerList};
use posse_api::calls::{
    changes::*, folder::*, library::*, permissions::*, record::*, served::*, steering::*,
};
use posse_api::{CallError, ProblemDocument, ROUTES};
use posse_engine::EventDiff;
use posse_protocol::{Event, Progress, schemas};
use posse_setup::{DoctorReport, ListedRule, ModelSummary, RoleList, SkillSummary, TrustItem};
use posse_testkit::schema::KnownSchema;
use posse_view::{Attention, SessionView};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// As serde writes them, by type; events without what all of them have.
const SAMPLES: &str = include_str!("schema_samples.json");

/// A text that is an id as well: formats are not checked.
const TEXT: &str = "00000000-0000-7000-8000-000000000001";

/// Whether it is what words that only a newer Posse knows are read as.
fn is_other(word: &Value) -> bool {
    word == "other" || word == "unknown"
}

fn samples() -> BTreeMap<String, Vec<Value>> {
    let mut samples: BTreeMap<String, Vec<Value>> = serde_json::from_str(SAMPLES).unwrap();
    for event in samples.get_mut("Event").unwrap() {
        let mut whole = json!({"seq": 7, "session": TEXT, "agent": TEXT, "parent": TEXT, "at_ms": 9});
        whole.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
        *event = whole;
    }
    samples
}

/// The lines of all fixtures of events, or the whole fixtures of views.
fn fixtures(ending: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../view/fixtures");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths =
        paths.filter(|path| path.extension().is_some_and(|own| own == ending)).collect::<Vec<_>>();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        values.map(Result::unwrap).collect::<Vec<_>>()
    };
    paths.iter().flat_map(read).collect()
}

/// The two schemas of a type.
struct Schemas {
    read: KnownSchema,
    written: KnownSchema,
}

impl Schemas {
    fn of<T: JsonSchema>() -> Self {
        let read = SchemaGenerator::default().into_root_schema_for::<T>();
        let written = schemas::written().into_generator().into_root_schema_for::<T>();
        Self { read: KnownSchema::new(read), written: KnownSchema::new(written) }
    }

    /// Where serde and the schemas do not agree about a value that was changed in one place. Only what serde writes comes
    /// back as it was.
    fn faults<T: Serialize + DeserializeOwned>(&self, value: &Value, at: &str) -> Vec<String> {
        let rewritten = serde_json::from_value::<T>(value.clone()).map(|read| json!(read));
        let by_read = self.read.violations(value);
        let by_written = self.unwritten(value);
        let mut faults = Vec::new();
        let is_written = rewritten.as_ref().is_ok_and(|rewritten| same(rewritten, value));
        // A word that only a newer Posse knows is read as another one. The schema tells the words that there are.
        let is_newer = |read: &Value| match read.pointer(at) {
            Some(Value::Array(list)) => list.iter().any(is_other),
            Some(read) => is_other(read),
            None => value.pointer(at).is_some_and(Value::is_string),
        };
        if rewritten.is_ok() != by_read.is_empty() && !rewritten.as_ref().is_ok_and(is_newer) {
            faults.push(format!("read: {:?}, but {by_read:?}", rewritten.as_ref().err()));
        }
        if is_written != by_written.is_empty() {
            faults.push(format!("written: {is_written}, but {by_written:?}"));
        }
        if let Ok(rewritten) = rewritten
            && !is_written
        {
            faults.extend(self.unwritten(&rewritten));
        }
        faults
    }

    /// Why Posse does not write this, by the schema.
    fn unwritten(&self, value: &Value) -> Vec<String> {
        let wrong = self.written.violations(value);
        if wrong.is_empty() { self.written.undescribed(value) } else { wrong }
    }
}

/// Whether they are the same, as far as a schema tells: numbers by their value, since where there are no integers -1 and
/// -1.0 are the same, and lists in any order, since sets are sorted.
fn same(one: &Value, other: &Value) -> bool {
    let sorted = |list: &[Value]| {
        let mut texts = list.iter().map(Value::to_string).collect::<Vec<_>>();
        texts.sort();
        texts
    };
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            let in_order =
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other));
            in_order || sorted(one) == sorted(other)
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

/// All places in a value.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(place, value)| (place.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    below.into_iter().for_each(|(key, value)| places(value, format!("{at}/{key}"), found));
    found.push(at);
}

/// The value with something else in one place, and without it.
fn changed(value: &Value, at: &str) -> Vec<Value> {
    let others =
        [json!(null), json!(true), json!(-1), json!(-1.5), json!(TEXT), json!([TEXT]), json!({"x": 1})];
    let was_object = value.pointer(at).unwrap().is_object();
    // Serde takes a list for a struct, too. Nobody writes that, and no schema tells of it.
    let others = others.into_iter().filter(|other| !(was_object && other.is_array()));
    let mut all = others
        .map(|other| {
            let mut changed = value.clone();
            *changed.pointer_mut(at).unwrap() = other;
            changed
        })
        .collect::<Vec<_>>();
    let (above, key) = at.rsplit_once('/').unwrap_or_default();
    let mut without = value.clone();
    if let Some(Value::Object(object)) = without.pointer_mut(above)
        && object.shift_remove(key).is_some()
    {
        all.push(without);
    }
    all
}

/// What a place is: what is true of one field of a struct is true of the same field elsewhere.
fn kind_of_place(value: &Value, at: &str) -> String {
    let (above, key) = at.rsplit_once('/').unwrap_or_default();
    let key = if key.parse::<usize>().is_ok() { "*" } else { key };
    let tag = value.get("type").or_else(|| value.get("attention")).filter(|_| above.is_empty());
    format!("{tag:?} {} {key} {}", shape(value.pointer(above).unwrap()), shape(value.pointer(at).unwrap()))
}

/// The fields of an object, or what else it is.
fn shape(value: &Value) -> String {
    match value {
        Value::Object(object) => object.keys().cloned().collect::<Vec<_>>().join(","),
        Value::Array(list) => format!("list of {}", list.first().map(shape).unwrap_or_default()),
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "text".to_owned(),
    }
}

/// How many values were checked, and what is wrong with them.
#[derive(Default)]
struct Checked {
    as_they_are: usize,
    changed: usize,
    faults: Vec<String>,
}

impl Checked {
    fn check<T: JsonSchema + Serialize + DeserializeOwned>(&mut self, values: &[Value]) {
        let (schemas, name) = (Schemas::of::<T>(), T::schema_name());
        let mut seen = BTreeSet::new();
        for value in values {
            self.as_they_are += 1;
            // What is not changed is as Posse writes it.
            let faults = [schemas.unwritten(value), schemas.faults::<T>(value, "")].concat();
            self.faults.extend(faults.into_iter().map(|fault| format!("{name} {value}: {fault}")));
            let mut all = Vec::new();
            places(value, String::new(), &mut all);
            for at in all.iter().filter(|at| seen.insert(kind_of_place(value, at))) {
                for changed in changed(value, at) {
                    self.changed += 1;
                    let (faults, now) = (schemas.faults::<T>(&changed, at), changed.pointer(at));
                    self.faults.extend(faults.iter().map(|fault| format!("{name}{at} = {now:?}: {fault}")));
                }
            }
        }
    }

    fn must_be_right(&self, changed_min: usize) {
        let shown = self.faults.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(self.faults.is_empty(), "{} faults:\n{shown}", self.faults.len());
        assert!(self.changed >= changed_min, "only {} changed values", self.changed);
    }
}

#[test]
fn events_are_as_their_schema_says() {
    let recorded = fixtures("jsonl");
    let written = recorded.iter().map(|event| json!(serde_json::from_value::<Event>(event.clone()).unwrap()));
    let (written, samples) = (written.collect::<Vec<_>>(), samples().remove("Event").unwrap());
    let schemas = Schemas::of::<Event>();
    let described: Value = SchemaGenerator::default().into_root_schema_for::<Event>().into();
    let all = samples.iter().chain(&written);
    let seen = all.map(|event| event["type"].as_str().unwrap()).collect::<BTreeSet<_>>();
    let known = described["oneOf"].as_array().unwrap().iter();
    let known =
        known.map(|kind| kind["properties"]["type"]["const"].as_str().unwrap()).collect::<BTreeSet<_>>();
    assert_eq!(seen, known, "kinds of event");

    for event in &recorded {
        assert_eq!(schemas.read.violations(event), [""; 0], "{event}");
    }
    let mut checked = Checked::default();
    checked.check::<Event>(&written);
    assert_eq!(checked.as_they_are, 400);
    checked.check::<Event>(&samples);
    checked.must_be_right(3_000);
}

#[test]
fn views_are_as_their_schema_says() {
    let fixtures = fixtures("json");
    let views = fixtures.iter().map(|one| one["view"].clone()).collect::<Vec<_>>();
    let attention = fixtures.iter().flat_map(|one| one["attention"].as_array().unwrap().clone());
    let mut checked = Checked::default();
    checked.check::<SessionView>(&views);
    assert_eq!(checked.as_they_are, 12);
    checked.check::<Attention>(&attention.collect::<Vec<_>>());
    checked.must_be_right(500);
}

#[test]
fn requests_and_answers_are_as_their_schemas_say() {
    let samples = samples();
    let mut checked = Checked::default();
    let mut names = BTreeSet::from(["Event".to_owned()]);
    macro_rules! check {
        ($($name:ident)*) => {
            $(
                names.insert(stringify!($name).to_owned());
                checked.check::<$name>(&samples[stringify!($name)]);
            )*
        };
    }
    check! {
        Progress SessionList SessionFound SessionAgents EventDiffFound ContextFound QuestionList HitList NoteList StatsFound
        Posted Accomplished Answered AgentsStopped PreviewedChange ChangedFiles SessionDiff MovedCommand EventDiff CallError
        PromptSession TellAgent EditMessage WithdrawMessage AnswerQuestion ChangeSettings TopUpBudget PreviewChange
        ChangeFiles MoveToBackground ServerList FillPrompt FilledPrompt
        ReviewHunks ServerFound SessionBegun TextFound TrustList CommandList CommandRan PathsFound FileChanged MovedAside
        AnsweredAside TranscriptPage StartSession ProblemDocument
        ModelSummary RoleList SkillSummary DoctorReport ListedRule TrustItem
    }
    assert_eq!(names, samples.keys().cloned().collect());
    checked.must_be_right(1_500);
}

/// A schema that allows everything says nothing.
#[test]
fn no_route_hides_what_it_takes_or_gives() {
    fn anything(schema: &Value, at: &str, found: &mut Vec<String>) {
        let words = ["description", "default", "title"];
        match schema {
            Value::Bool(true) => found.push(at.to_owned()),
            Value::Object(keywords) if keywords.keys().all(|keyword| words.contains(&keyword.as_str())) => {
                found.push(at.to_owned());
            }
            _ => {}
        }
        for holder in ["properties", "$defs"] {
            for (name, one) in schema.get(holder).and_then(Value::as_object).into_iter().flatten() {
                anything(one, &format!("{at}/{name}"), found);
            }
        }
        for one in schema.get("items").into_iter() {
            anything(one, &format!("{at}/*"), found);
        }
        for holder in ["oneOf", "anyOf", "allOf", "prefixItems"] {
            for one in schema.get(holder).and_then(Value::as_array).into_iter().flatten() {
                anything(one, at, found);
            }
        }
    }
    let mut found = Vec::new();
    let document = posse_api::openapi();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    schemas.iter().for_each(|(name, schema)| anything(schema, name, &mut found));
    for route in ROUTES {
        let operation = &document["paths"][route.path][&route.verb.method().as_str().to_lowercase()];
        for parameter in operation["parameters"].as_array().unwrap() {
            anything(
                &parameter["schema"],
                &format!("{} takes {}", route.name, parameter["name"]),
                &mut found,
            );
        }
    }
    assert_eq!(found, [""; 0]);
}
