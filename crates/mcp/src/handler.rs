//! What a server may ask of us: to put a question to the person. Nothing else is offered.

use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, FormElicitationCapability, Implementation, ProgressNotificationParam,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::elicit::elicit;
use crate::open_calls::OpenCalls;

/// Our side of one connection.
#[derive(Clone, Debug)]
pub(crate) struct OurSide {
    pub(crate) server: String,
    pub(crate) calls: OpenCalls,
    /// Set when the server says that its tools are others now.
    pub(crate) changed: Arc<AtomicBool>,
}

impl ClientHandler for OurSide {
    fn get_info(&self) -> ClientConfig {
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = Some(FormElicitationCapability::default());
        elicitation.url = Some(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        ClientConfig::new(capabilities, Implementation::new("posse", env!("CARGO_PKG_VERSION")))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match self.calls.asker(&self.server) {
            Some(asker) => Ok(elicit(&asker, &request).await),
            // Nobody has called it, so there is nobody to ask for.
            None => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.calls.progressed(&params.progress_token);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}
