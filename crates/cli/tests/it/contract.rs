//! W2: the API is what its document says. schemathesis reads `/openapi.json` and makes requests up, valid ones and others; no
//! answer may be a server's fault or differ from its schema. More of them with `POSSE_SOAK=1`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use crate::posse::{Person, text};

/// Requests made up for each route, beside those that try every limit once.
const REQUESTS: &str = "2";
const REQUESTS_SOAK: &str = "300";

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,\
                      negative_data_rejection,unsupported_method,ignored_auth";

/// A server that ends with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_server_is_as_its_document_says() {
    let project = Fixture::new().file("a.txt", "one\n").git();
    let edit = json!({"path": "b.txt", "content": "two\n"});
    let person = Person::with_project([Turn::call("write_file", edit), Turn::text("Done.")], project);
    let ran = person.posse(&["run", "--json", "--approval", "auto", "Write b."]);
    let session = ran.events()[0]["session"].as_str().unwrap().to_owned();
    let mut server = person.command(&["serve", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let _served = Served(server);
    let said: Value = serde_json::from_str(&line).unwrap();
    let token = std::fs::read_to_string(said["token_file"].as_str().unwrap()).unwrap();

    // What is made up is about what is there.
    let folder = tempfile::tempdir().unwrap();
    let settings = format!(
        "[parameters]\n\"path.session\" = \"{session}\"\n\"query.folder\" = \"{}\"\n",
        text(person.project.path())
    );
    let settings_file = folder.path().join("schemathesis.toml");
    std::fs::write(&settings_file, settings).unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    let parts = Command::new(scripts.join("python-parts")).output().unwrap();
    assert!(parts.status.success(), "{}", String::from_utf8_lossy(&parts.stderr));
    let programs = String::from_utf8(parts.stdout).unwrap();
    let soaks = std::env::var_os("POSSE_SOAK").is_some();
    let requests = if soaks { REQUESTS_SOAK } else { REQUESTS };
    let output = Command::new(Path::new(programs.trim()).join("st"))
        .arg("--config-file")
        .arg(&settings_file)
        .args(["run", &format!("{}openapi.json", said["address"].as_str().unwrap())])
        .args(["-H", &format!("Authorization: Bearer {}", token.trim())])
        .args(["--phases", "coverage,fuzzing", "-n", requests, "--checks", CHECKS, "--seed", "16"])
        // A stream does not end.
        .args(["--exclude-path-regex", "/events$", "--continue-on-failure", "--warnings", "off"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let tested = told.lines().find_map(|line| line.trim().strip_prefix("Tested: ")).unwrap_or_default();
    assert!(tested.parse::<usize>().is_ok_and(|tested| tested >= 55), "{told}");
}
