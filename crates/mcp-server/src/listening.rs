//! Clients that listen to tasks: `subscriptions/listen` with `taskIds`, answered by `notifications/tasks`.
//!
//! The library's filter has no tasks in it and drops what it does not know, so the transports carry their ids past it in the
//! request's `_meta`.

use rmcp::model::{
    DetailedTask, GetMeta as _, RequestId, RequestMetaObject, ServerNotification, TaskStatusNotification,
    TaskStatusNotificationParams,
};
use serde_json::Value;

use crate::limits;

/// The method that is listened by.
pub(crate) const LISTEN: &str = "subscriptions/listen";
/// Where the ids are carried.
const CARRIED: &str = "posse/taskIds";

/// Puts the ids of a request to listen where they are not dropped. Every other message stays as it is.
pub(crate) fn carry_tasks(message: &mut Value) {
    if message.get("method").and_then(Value::as_str) != Some(LISTEN) {
        return;
    }
    let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) else { return };
    let wanted = params.get("notifications").and_then(|filter| filter.get("taskIds")).cloned();
    let meta = params.get_mut("_meta").and_then(Value::as_object_mut);
    if let (Some(Value::Array(mut tasks)), Some(meta)) = (wanted, meta) {
        tasks.truncate(limits::FOLLOWED_TASKS_MAX);
        meta.insert(CARRIED.to_owned(), Value::Array(tasks));
    }
}

/// The tasks that a request wants to listen to.
pub(crate) fn carried_tasks(meta: &RequestMetaObject) -> Vec<String> {
    let tasks = meta.get(CARRIED).and_then(Value::as_array).into_iter().flatten();
    tasks.take(limits::FOLLOWED_TASKS_MAX).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What one who listens is told of a task.
pub(crate) fn told(task: DetailedTask, subscription: RequestId) -> ServerNotification {
    let told = TaskStatusNotification::new(TaskStatusNotificationParams::new(task));
    let mut told = ServerNotification::TaskStatusNotification(told);
    told.get_meta_mut().set_subscription_id(subscription);
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_ids_of_a_request_to_listen_are_carried() {
        let listen = |ids: Value| json!({ "method": LISTEN, "params": { "_meta": {}, "notifications": { "taskIds": ids } } });
        let mut message = listen(json!(["a", "b"]));
        carry_tasks(&mut message);
        assert_eq!(message["params"]["_meta"][CARRIED], json!(["a", "b"]));
        let mut many = listen(json!(vec!["a"; limits::FOLLOWED_TASKS_MAX + 1]));
        carry_tasks(&mut many);
        assert_eq!(many["params"]["_meta"][CARRIED].as_array().unwrap().len(), limits::FOLLOWED_TASKS_MAX);
        let others = [
            listen(json!("a")),
            json!({ "method": LISTEN }),
            json!({ "method": LISTEN, "params": { "notifications": { "taskIds": ["a"] } } }),
            json!({ "method": "tools/call", "params": { "_meta": {}, "notifications": { "taskIds": ["a"] } } }),
        ];
        for other in others {
            let mut message = other.clone();
            carry_tasks(&mut message);
            assert_eq!(message, other);
        }
    }
}
