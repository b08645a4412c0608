//! What is allowed without asking: rules, what a project's files want, and the models of roles.

use std::path::Path;
use std::sync::Arc;

use posse_setup::{
    ListedRule, Paths, RuleKind, TrustItem, Trusted, list_rules, remove_rule, save_role_model, save_rule,
    trust_items,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::call::{Call, Verb, at_most};
use crate::calls::about_folder::about_a_folder;
use crate::calls::served::folder_named;
use crate::calls::steering::Accomplished;
use crate::failure::CallError;
use crate::hub::Hub;
use crate::limits::NAME_BYTES_MAX;

/// Rules that allow, ask or deny.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleList {
    /// In the order of their files.
    pub rules: Vec<ListedRule>,
}

about_a_folder!(
    /// The rules that count in a folder.
    ListRules, RuleList, "list_rules", "/api/rules",
    |paths, folder| Ok(RuleList { rules: list_rules(paths, folder).map_err(CallError::refused)? })
);

/// A file that wants to act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustWanted {
    /// This very content at this very path.
    pub id: String,
    /// The file.
    pub path: String,
    /// Its content.
    pub text: String,
    /// What it would be allowed, the gravest first.
    pub wants: Vec<String>,
    /// Whether this content is trusted.
    pub trusted: bool,
}

/// Files that want to act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustList {
    /// One for each file.
    pub items: Vec<TrustWanted>,
}

about_a_folder!(
    /// What the files of a folder want to be allowed.
    ShowTrust, TrustList, "show_trust", "/api/trust",
    |paths, folder| Ok(TrustList { items: wanted(paths, folder)? })
);

fn wanted(paths: &Paths, folder: &Path) -> Result<Vec<TrustWanted>, CallError> {
    let trusted = Trusted::load(paths).map_err(CallError::refused)?;
    let items = trust_items(paths, folder).map_err(CallError::refused)?;
    let one = |item: TrustItem| TrustWanted {
        id: content_id(&item.path, &item.text),
        trusted: trusted.holds(&item.path, &item.text),
        path: item.path.display().to_string(),
        text: item.text,
        wants: item.wants,
    };
    Ok(items.into_iter().map(one).collect())
}

fn content_id(path: &Path, text: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(path.as_os_str().as_encoded_bytes());
    digest.update([0]);
    digest.update(text.as_bytes());
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Trusts files of a folder: those that were shown, with the content that was shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustFiles {
    /// The folder.
    pub folder: String,
    /// The ids of what was shown.
    pub ids: Vec<String>,
}

impl Call<Arc<Hub>> for TrustFiles {
    type Of = ();
    type Answer = Accomplished;
    const NAME: &'static str = "trust_files";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/trust";

    fn check(&self) -> Result<(), CallError> {
        folder_named(&self.folder)
    }

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<Accomplished, CallError> {
        let ids = self.ids;
        let add = move |paths: &Paths, folder: &Path| {
            let items = trust_items(paths, folder).map_err(CallError::refused)?;
            let shown = |id: &String| items.iter().find(|item| content_id(&item.path, &item.text) == *id);
            let changed = || CallError::refused("What was shown has changed since; look at it again.");
            let all = ids.iter().map(|id| shown(id).ok_or_else(changed)).collect::<Result<Vec<_>, _>>()?;
            let mut trusted = Trusted::load(paths).map_err(CallError::refused)?;
            all.into_iter()
                .try_for_each(|item| trusted.add(&item.path, &item.text))
                .map_err(CallError::refused)?;
            Ok(Accomplished {})
        };
        hub.files(&self.folder, add).await
    }
}

/// Saves a rule in the person's own configuration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveRule {
    /// `allow`, `ask` or `deny`.
    pub kind: RuleKind,
    /// The rule, such as `edit_file(src/*)`.
    pub rule: String,
}

/// Removes a rule from the person's own configuration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveRule {
    /// `allow`, `ask` or `deny`.
    pub kind: RuleKind,
    /// The rule as it is written.
    pub rule: String,
}

/// Whether a file was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChanged {
    /// False if it said that already.
    pub changed: bool,
}

impl Call<Arc<Hub>> for SaveRule {
    type Of = ();
    type Answer = FileChanged;
    const NAME: &'static str = "save_rule";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/rules/save";

    fn check(&self) -> Result<(), CallError> {
        at_most(NAME_BYTES_MAX, "The rule", &self.rule)
    }

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<FileChanged, CallError> {
        let saved = save_rule(&hub.paths, self.kind, &self.rule);
        Ok(FileChanged { changed: saved.map_err(CallError::refused)? })
    }
}

impl Call<Arc<Hub>> for RemoveRule {
    type Of = ();
    type Answer = FileChanged;
    const NAME: &'static str = "remove_rule";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/rules/remove";

    fn check(&self) -> Result<(), CallError> {
        at_most(NAME_BYTES_MAX, "The rule", &self.rule)
    }

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<FileChanged, CallError> {
        let removed = remove_rule(&hub.paths, self.kind, &self.rule);
        Ok(FileChanged { changed: removed.map_err(CallError::refused)? })
    }
}

/// Gives a role a model of its own, in the person's configuration. It counts for new sessions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveRoleModel {
    /// The role.
    pub role: String,
    /// The model by name.
    pub model: String,
}

impl Call<Arc<Hub>> for SaveRoleModel {
    type Of = ();
    type Answer = FileChanged;
    const NAME: &'static str = "save_role_model";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/roles/model";

    fn check(&self) -> Result<(), CallError> {
        at_most(NAME_BYTES_MAX, "The role", &self.role)?;
        at_most(NAME_BYTES_MAX, "The model's name", &self.model)
    }

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<FileChanged, CallError> {
        let saved = save_role_model(&hub.paths, &self.role, &self.model);
        Ok(FileChanged { changed: saved.map_err(CallError::refused)? })
    }
}
