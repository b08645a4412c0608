//! A person's home and a project, in a folder that goes with the test.

use std::path::{Path, PathBuf};

use posse_engine::SessionRequest;
use posse_setup::{Paths, PrepareError, SessionPlan, SetupWarning, Surroundings, Wishes};

/// Two models; the first is used.
pub(crate) const TWO_MODELS: &str = r#"model = "one"
[models.one]
endpoint = "http://127.0.0.1:9/v1"
model = "first"
[models.two]
endpoint = "http://127.0.0.1:9/v1"
model = "second"
"#;

pub(crate) struct World {
    root: tempfile::TempDir,
}

impl World {
    pub(crate) fn new(config: &str) -> Self {
        let world = Self { root: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(world.project()).unwrap();
        world.write("home/.config/posse/config.toml", config);
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A home and a current folder, and no variable at all.
    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings::new(self.project()).with_home(self.path("home"))
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::find(self.surroundings(), None, None).unwrap()
    }
}

/// All steps to a request, as an interface takes them.
pub(crate) async fn prepare(
    surroundings: Surroundings,
    folder: &Path,
    wishes: Wishes,
) -> Result<(SessionRequest, Vec<SetupWarning>), PrepareError> {
    let paths = Paths::find(surroundings, None, None)?;
    let plan = SessionPlan::read(&paths, folder, wishes)?;
    let choice = plan.choose_model().await?;
    let terms = plan.terms(choice)?;
    let warnings = terms.warnings.clone();
    Ok((terms.request("do it".to_owned(), None)?, warnings))
}
