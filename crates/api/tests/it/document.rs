//! What is written about the routes is made of the table: `docs/openapi.json`, and the tables of `docs/api.md`.
//! `POSSE_WRITE_DOCS=1 cargo nextest run -p posse-api` writes both again.

use std::path::{Path, PathBuf};

use posse_api::{CallErrorKind, ROUTES};
use serde_json::Value;

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Compares a file with what it should be, or writes it.
fn check(name: &str, want: &str) {
    if std::env::var_os("POSSE_WRITE_DOCS").is_some() {
        std::fs::write(docs(name), want).unwrap();
    }
    let found = std::fs::read_to_string(docs(name)).unwrap_or_default();
    assert!(found == want, "docs/{name} is not what the table says; POSSE_WRITE_DOCS=1 writes it again");
}

#[test]
fn the_document_is_the_table() {
    let mut text = serde_json::to_string_pretty(&posse_api::openapi()).unwrap();
    text.push('\n');
    check("openapi.json", &text);
}

#[test]
fn the_reference_page_is_the_table() {
    let page = std::fs::read_to_string(docs("api.md")).unwrap();
    let page = replaced(&page, "routes of every process", &routes(false));
    let page = replaced(&page, "routes of posse serve", &routes(true));
    check("api.md", &page);
}

#[test]
fn the_page_lists_every_kind_of_error() {
    let page = std::fs::read_to_string(docs("api.md")).unwrap();
    for kind in CallErrorKind::ALL {
        let word = serde_json::to_string(&kind).unwrap();
        let line = format!("| `{}` | {} |", word.trim_matches('"'), kind.status().as_u16());
        assert!(page.contains(&line), "{line}");
    }
}

/// The rows of a table, one for each route.
fn routes(serve_only: bool) -> String {
    let document = posse_api::openapi();
    let mut rows = String::from("| route | what it does | takes |\n|---|---|---|\n");
    for route in ROUTES.iter().filter(|route| route.serve_only == serve_only) {
        let operation = &document["paths"][route.path][&route.verb.method().as_str().to_lowercase()];
        let told = operation["description"].as_str().unwrap().replace('\n', " ").replace('|', "\\|");
        let fields = fields(&document, operation).iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        rows.push_str(&format!(
            "| `{} {}` | {told} | {} |\n",
            route.verb.method(),
            route.path,
            fields.join(", ")
        ));
    }
    rows
}

/// The names of what a route takes, path apart.
fn fields(document: &Value, operation: &Value) -> Vec<String> {
    let reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str();
    if let Some(name) = reference.and_then(|path| path.rsplit('/').next()) {
        let fields = document["components"]["schemas"][name]["properties"].as_object();
        return fields.into_iter().flatten().map(|(name, _)| name.clone()).collect();
    }
    let parameters = operation["parameters"].as_array().unwrap();
    let of_query = parameters.iter().filter(|parameter| parameter["in"] == "query");
    of_query.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
}

/// A page with another text between two marks.
fn replaced(page: &str, mark: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no mark {mark}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no end of {mark}"));
    format!("{before}{begin}{text}{end}{after}")
}
