//! The models of roles in the person's own file: `[roles.NAME]` with `model`.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

use super::RuleFileError;
use super::rule_file::change;
use crate::paths::Paths;

/// Models with their places.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RoleSections {
    roles: BTreeMap<String, RoleSection>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RoleSection {
    model: Option<Spanned<String>>,
}

/// Saves which model a role has, for sessions that begin from now on. False if it has that one already.
pub fn save_role_model(paths: &Paths, role: &str, model: &str) -> Result<bool, RuleFileError> {
    change(paths, |text, file| {
        let wanted = file.roles.entry(role.to_owned()).or_default();
        if wanted.model.as_deref() == Some(model) {
            return None;
        }
        wanted.model = Some(model.to_owned());
        Some(with_model(text, role, model))
    })
}

/// The text with the model of a role; none where no place for it is found.
fn with_model(text: &str, role: &str, model: &str) -> Option<String> {
    let quoted = toml::Value::String(model.to_owned()).to_string();
    let sections = toml::from_str::<RoleSections>(text).unwrap_or_default();
    if let Some(place) = sections.roles.get(role).and_then(|role| role.model.as_ref()) {
        let span = place.span();
        return Some(format!("{}{quoted}{}", text.get(..span.start)?, text.get(span.end..)?));
    }
    let key = toml::Value::String(role.to_owned()).to_string();
    let heads = [format!("[roles.{role}]"), format!("[roles.{key}]")];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if heads.iter().any(|head| line.trim() == head) {
            let gap = if line.ends_with('\n') { "" } else { "\n" };
            return Some(format!("{}{gap}model = {quoted}\n{}", &text[..at], &text[at..]));
        }
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    Some(format!("{text}{gap}[roles.{key}]\nmodel = {quoted}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_put_where_its_role_is() {
        let cases = [
            ("", "[roles.\"a\"]\nmodel = \"m\"\n"),
            ("x = 1", "x = 1\n\n[roles.\"a\"]\nmodel = \"m\"\n"),
            ("[roles.a]\nmodel = \"old\" # why\n", "[roles.a]\nmodel = \"m\" # why\n"),
            ("[roles.a]\n[roles.b]\nmodel = \"b\"\n", "[roles.a]\nmodel = \"m\"\n[roles.b]\nmodel = \"b\"\n"),
        ];
        assert_eq!(cases.len(), 4);
        for (text, want) in cases {
            assert_eq!(with_model(text, "a", "m").as_deref(), Some(want), "{text:?}");
        }
    }
}
