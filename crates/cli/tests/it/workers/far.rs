//! A person with a project, and a machine that they reach by ssh.

use std::collections::HashMap;
use std::path::PathBuf;

use posse_testkit::sshd::Sshd;
use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker};

use crate::posse::Person;

pub(crate) const REPORT: &str =
    "SUMMARY: It is done.\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None.";

/// Both machines.
pub(crate) struct Far {
    pub(crate) person: Person,
    pub(crate) sshd: Sshd,
}

impl Far {
    /// Each agent's turns by its name; the far machine has this binary.
    pub(crate) fn new<const N: usize>(scripts: [(&'static str, Vec<Turn>); N]) -> Self {
        Self::with("exec \"$POSSE\" \"$@\"", scripts)
    }

    /// The same where `posse` there is a script. `$POSSE` is this binary.
    pub(crate) fn with<const N: usize>(script: &str, scripts: [(&'static str, Vec<Turn>); N]) -> Self {
        let model = model(scripts);
        let project = Fixture::new().file("main.py", "print('hi')\n").git();
        let far = Self { person: Person::with_model(model, project), sshd: Sshd::start() };
        let program = far.program(script);
        far.person.configure_more(&format!(
            "[cluster]\nlease = \"6s\"\n[workers.gpu]\nssh = {:?}\nssh_options = {:?}\nprogram = {program:?}\nlabels = [\"cuda\"]\n",
            far.sshd.host(),
            far.sshd.options(),
        ));
        let agents = far.person.config().with_file_name("agents");
        std::fs::create_dir(&agents).unwrap();
        let role =
            "---\nname: painter\ndescription: Paints.\non: gpu\nisolation: worktree\n---\nYou paint.\n";
        std::fs::write(agents.join("painter.md"), role).unwrap();
        far
    }

    /// What the far machine calls posse.
    fn program(&self, script: &str) -> PathBuf {
        let posse = self.sshd.reachable(env!("CARGO_BIN_EXE_posse").as_ref());
        let text = format!(
            "#!/bin/sh\nHOME={:?}\nPOSSE={posse:?}\nunset XDG_CONFIG_HOME XDG_DATA_HOME\nexport HOME\n{script}\n",
            self.sshd.far()
        );
        self.sshd.far_program("posse", &text)
    }

    /// Where the worker keeps what it has.
    pub(crate) fn worker_folder(&self) -> PathBuf {
        self.sshd.far().join(".local/share/posse/worker")
    }
}

/// A model that has each agent's turns by its name.
pub(crate) fn model<const N: usize>(scripts: [(&'static str, Vec<Turn>); N]) -> FakeModel {
    let scripts: HashMap<&str, Vec<Turn>> = scripts.into_iter().collect();
    FakeModel::by_rule_blocking(move |request| next_turn(&scripts, request))
}

fn next_turn(scripts: &HashMap<&str, Vec<Turn>>, request: &Captured) -> Turn {
    let request = request.json();
    let name = asker(&request);
    let turns = scripts.get(name.as_str()).unwrap_or_else(|| panic!("no script for {name}"));
    // By what the conversation holds: a call that is made again gets the same reply.
    let turn =
        request["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "assistant").count();
    turns.get(turn).cloned().unwrap_or_else(|| Turn::text(format!("{name} has no turn {turn}")))
}
