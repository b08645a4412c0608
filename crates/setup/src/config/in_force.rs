//! The configuration in force, every value that counts included, as a file that could be written.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use posse_model::shown_address;

use super::{ClusterFile, Config, DurabilityWord, FileConfig, NetworkFile, ServerFile, WorkerFile};
use crate::error::ConfigError;

impl Config {
    /// All of it as TOML, without passwords and keys in addresses: what is printed ends up in reports of defects.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        let grant = self.grant();
        let mut file = FileConfig {
            model: self.model.clone(),
            context_files: self.context_files.clone(),
            profile: self.profile,
            limits: self.limits.clone(),
            rights: self.rights.clone(),
            approval: self.approval.clone(),
            sandbox: self.sandbox.clone(),
            git: self.git.clone(),
            record: self.record.clone(),
            memory: self.memory.clone(),
            chat: self.chat.clone(),
            acp: self.acp.clone(),
            hooks: self.hooks.clone(),
            cluster: self.cluster.clone(),
            workers: self.workers.clone(),
            worker: self.worker.clone(),
            sub_agents: self.sub_agents.clone(),
            roles: self.roles.clone(),
            models: self.models.clone(),
            mcp: self.servers_in_force(),
        };
        file.limits.max_turns = self.budget().turns.and_then(NonZeroU32::new);
        (file.rights.files, file.rights.shell) = (Some(grant.files), Some(grant.shell));
        file.rights.network.get_or_insert(NetworkFile::NONE);
        file.approval.mode = Some(grant.approval);
        file.record.durability.get_or_insert(DurabilityWord::Process);
        file.memory.enabled.get_or_insert(true);
        file.chat.theme.get_or_insert_default();
        file.chat.notify.get_or_insert_default();
        file.acp.client_files.get_or_insert_default();
        let addresses = file.models.values_mut().filter_map(|model| model.endpoint.as_mut());
        let sub_agents = &mut file.sub_agents;
        let routed = sub_agents.endpoint.iter_mut().chain(sub_agents.endpoints.iter_mut().flatten());
        for address in addresses.chain(routed) {
            let shown = shown_address(address);
            if shown != address.trim_end_matches('/') {
                *address = shown;
            }
        }
        file.sub_agents = file.sub_agents.in_force();
        self.machines_in_force(&mut file);
        Ok(toml::to_string(&file)?)
    }

    /// What counts of other machines, if there are any; for one machine there is nothing to say.
    fn machines_in_force(&self, file: &mut FileConfig) {
        if file.cluster != ClusterFile::default() || !file.workers.is_empty() {
            file.workers.values_mut().for_each(|worker| *worker = worker.in_force(&self.cluster));
            file.cluster = self.cluster.in_force();
        }
        if file.worker != WorkerFile::default() {
            file.worker = self.worker.in_force();
        }
    }

    /// The servers that count, without secrets; the person's own win.
    fn servers_in_force(&self) -> BTreeMap<String, ServerFile> {
        let counting = self.servers.iter().rev().filter(|file| file.trusted);
        let servers = counting.flat_map(|file| file.servers.clone());
        servers.map(|(name, server)| (name, server.without_secrets())).collect()
    }
}
