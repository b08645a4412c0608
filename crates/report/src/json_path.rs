//! Runs a JSONPath (RFC 9535) over a value that may be hostile, with a path that may be too. The library that does the
//! work has no limits of its own, so what a path may cost is estimated before it runs.

use jsonpath_rust::JsonPath as _;
use serde_json::Value;

use posse_protocol::visible::one_line;

use crate::limits;

const EXAMPLES: &str = "Paths look like $.files[0].path, $..name, $.items[?@.ok == true] or $.items[0:10]";

/// What a path finds, in order.
pub(crate) fn find<'a>(value: &'a Value, path: &str) -> Result<Vec<&'a Value>, String> {
    let path = rooted(path.trim());
    let shown = one_line(&path, 100);
    if path.len() > limits::JSON_PATH_BYTES_MAX {
        return Err(format!(
            "the JSONPath is longer than {} bytes; use a simpler one",
            limits::JSON_PATH_BYTES_MAX
        ));
    }
    let shape = Shape::of(&path).map_err(|why| format!("the JSONPath {shown} {why}; use a simpler one"))?;
    let weight = Weight::of(value);
    let times = shape.times(&weight);
    if weight.nodes.saturating_mul(times) > limits::JSON_PATH_WORK_MAX
        || weight.places_bytes.saturating_mul(times) > limits::JSON_PATH_PLACES_BYTES_MAX
    {
        return Err(format!(
            "the JSONPath {shown} would look at too much of a value with {} elements; name more of the way, and use fewer .. and filters, or read by slice or lines",
            weight.nodes
        ));
    }
    value.query(&path).map_err(|error| {
        let place = place(&error.to_string()).map(|at| format!(" at character {at}")).unwrap_or_default();
        format!("the JSONPath {shown} cannot be read{place}. {EXAMPLES}")
    })
}

/// Models leave out the first sign.
fn rooted(path: &str) -> String {
    match path.chars().next() {
        Some('$') => path.to_owned(),
        Some('.' | '[') => format!("${path}"),
        None => "$".to_owned(),
        Some(_) => format!("$.{path}"),
    }
}

/// Where the library stopped reading: it says `--> 1:7` in its message.
fn place(message: &str) -> Option<u32> {
    let after = message.split_once("--> 1:")?.1;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// What makes a path costly, by its text.
#[derive(Debug, Default)]
struct Shape {
    /// How many `..`: each looks at everything below what was found before.
    descents: u32,
    /// How many `?`: each looks at everything below each element.
    filters: u32,
    /// How many `$` after the first, and functions that compare lists: each may look at everything for each element.
    wholes: u32,
    /// How many ways a path branches by `[a, b]`.
    branches: u64,
    /// How much more an element costs because of regular expressions.
    patterns: u64,
}

impl Shape {
    fn of(path: &str) -> Result<Self, &'static str> {
        let mut shape = Self { branches: 1, ..Self::default() };
        let mut open: Vec<Bracket> = Vec::new();
        let mut quote: Option<char> = None;
        let (mut last, mut escaped) = (' ', false);
        for (at, c) in path.char_indices() {
            if let Some(end) = quote {
                quote = (escaped || c != end).then_some(end);
                escaped = c == '\\' && !escaped;
                last = c;
                continue;
            }
            match c {
                '\'' | '"' => quote = Some(c),
                '(' | '[' => open.push(Bracket::new(c, &path[..at])),
                ')' | ']' => shape.close(open.pop(), last)?,
                ',' => open.last_mut().into_iter().for_each(|bracket| bracket.commas += 1),
                '.' if last == '.' => shape.descents += 1,
                '?' => shape.filters += 1,
                '$' => shape.wholes += 1,
                _ => {}
            }
            if open.len() > limits::JSON_PATH_NESTING_MAX {
                return Err("has brackets in brackets in brackets");
            }
            last = if c.is_whitespace() { last } else { c };
        }
        shape.wholes = shape.wholes.saturating_sub(1);
        // Functions that compare lists.
        let lists = ["_of(", "in("].map(|name| path.matches(name).count());
        shape.wholes =
            shape.wholes.saturating_add(u32::try_from(lists.iter().sum::<usize>()).unwrap_or(u32::MAX));
        if shape.patterns > 0 && (path.contains('{') || path.len() > limits::JSON_PATH_PATTERN_BYTES_MAX) {
            return Err("has a regular expression that is too large or counts with { }");
        }
        let classes = path.matches(['\\', '^']).count() as u64;
        // They are compiled again for each element.
        shape.patterns = (shape.patterns * 100 * (1 + classes)).max(1);
        Ok(shape)
    }

    fn close(&mut self, bracket: Option<Bracket>, last: char) -> Result<(), &'static str> {
        let Some(bracket) = bracket else { return Ok(()) };
        if bracket.pattern {
            self.patterns += 1;
            // One that is taken from the value could be anything.
            if !matches!(last, '\'' | '"') {
                return Err("has a regular expression that is not written out in quotes");
            }
        } else if bracket.sign == '[' {
            self.branches = self.branches.saturating_mul(bracket.commas + 1);
        }
        Ok(())
    }

    /// How often each element may be looked at, at most.
    fn times(&self, weight: &Weight) -> u64 {
        let deep = self.descents.saturating_sub(1).saturating_add(self.filters);
        let deep = weight.depth.saturating_pow(deep);
        let wholes = weight.nodes.saturating_pow(self.wholes);
        deep.saturating_mul(wholes).saturating_mul(self.branches).saturating_mul(self.patterns)
    }
}

/// A bracket that is open while a path is read.
struct Bracket {
    sign: char,
    commas: u64,
    /// Whether it holds a text and a regular expression.
    pattern: bool,
}

impl Bracket {
    fn new(sign: char, before: &str) -> Self {
        let pattern = sign == '(' && ["search", "match"].iter().any(|name| before.trim_end().ends_with(name));
        Self { sign, commas: 0, pattern }
    }
}

/// How large a value is, for estimates.
struct Weight {
    nodes: u64,
    depth: u64,
    /// The places of all elements, written as paths.
    places_bytes: u64,
}

impl Weight {
    fn of(value: &Value) -> Self {
        let mut weight = Self { nodes: 0, depth: 1, places_bytes: 0 };
        let mut open: Vec<(&Value, u64, u64)> = vec![(value, 1, 1)];
        while let Some((value, depth, place_bytes)) = open.pop() {
            weight.nodes += 1;
            weight.depth = weight.depth.max(depth);
            weight.places_bytes = weight.places_bytes.saturating_add(place_bytes);
            match value {
                Value::Array(list) => open.extend(list.iter().map(|v| (v, depth + 1, place_bytes + 8))),
                Value::Object(map) => {
                    let below =
                        |(key, v): (&'_ String, _)| (v, depth + 1, place_bytes + key.len() as u64 + 4);
                    open.extend(map.iter().map(below));
                }
                _ => {}
            }
        }
        weight
    }
}
