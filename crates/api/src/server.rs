//! The table as a service. It does not know how connections are made, nor who may make them.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::{MethodFilter, on};

use crate::call::Verb;
use crate::exchange::failed;
use crate::failure::{CallError, CallErrorKind};
use crate::routes::ROUTES;
use crate::shared::Shared;

/// The table as a service. Who may connect is decided by whoever accepts connections.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let filter = match route.verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
        };
        let shared = Arc::clone(shared);
        router = router.route(
            route.path,
            on(filter, move |request: Request| (route.handler)(Arc::clone(&shared), request)),
        );
    }
    let no_such = || async { failed(CallError::new(CallErrorKind::NoSuchRoute, "There is no such route.")) };
    let wrong = || async {
        failed(CallError::new(CallErrorKind::WrongMethod, "The route is there, with another method."))
    };
    router.fallback(no_such).method_not_allowed_fallback(wrong)
}
