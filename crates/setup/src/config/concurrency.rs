//! How many requests an endpoint gets at once: what is written for one of its models holds for those that say nothing.

use std::collections::BTreeMap;

use posse_model::{ModelConfig, shown_address};

use super::ModelFile;

/// Writes the number in force into every model that has none.
pub(super) fn settle(models: &mut BTreeMap<String, ModelFile>) {
    let mut written: BTreeMap<String, usize> = BTreeMap::new();
    for model in models.values() {
        if let (Some(endpoint), Some(number)) = (&model.endpoint, model.max_concurrent) {
            // Whoever says nothing lowers nothing.
            let most = written.entry(shown_address(endpoint)).or_insert(number);
            *most = number.max(*most);
        }
    }
    for (name, model) in models.iter_mut().filter(|(_, model)| model.max_concurrent.is_none()) {
        let Some(endpoint) = &model.endpoint else { continue };
        let usual = || ModelConfig::new(name, "", model.protocol, endpoint).max_concurrent;
        model.max_concurrent = Some(written.get(&shown_address(endpoint)).copied().unwrap_or_else(usual));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::ShownPath;

    #[test]
    fn what_is_written_counts_for_those_that_say_nothing() {
        let text = r#"
            [models.eight]
            endpoint = "http://127.0.0.1:9/v1"
            max_concurrent = 8
            [models.two]
            endpoint = "http://127.0.0.1:9/v1/"
            max_concurrent = 2
            [models.silent]
            endpoint = "http://user:word@127.0.0.1:9/v1"
            [models.local]
            endpoint = "http://127.0.0.1:10/v1"
            [models.remote]
            endpoint = "https://example.com/v1"
            [models.tape]
            protocol = "replay"
        "#;
        let mut models = super::super::parse(text, &ShownPath::in_full("c.toml")).unwrap().models;
        settle(&mut models);
        let found = models.iter().map(|(name, model)| (name.as_str(), model.max_concurrent));
        let remote =
            ModelConfig::new("m", "", models["remote"].protocol, "https://example.com").max_concurrent;
        let wanted = [
            ("eight", Some(8)),
            ("local", Some(1)),
            ("remote", Some(remote)),
            ("silent", Some(8)),
            ("tape", None),
            ("two", Some(2)),
        ];
        assert_eq!(found.collect::<Vec<_>>(), wanted);
    }
}
