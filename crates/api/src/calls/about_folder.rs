//! Queries about a folder differ in what they read there, and in nothing else.

/// A query about a folder: its type, its answer, its name, its path, and how it is answered.
macro_rules! about_a_folder {
    ($(#[$doc:meta])* $name:ident, $answer:ty, $route:literal, $path:literal, $read:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// The folder.
            pub folder: String,
        }

        impl Call<Arc<Hub>> for $name {
            type Of = ();
            type Answer = $answer;
            const NAME: &'static str = $route;
            const VERB: Verb = Verb::Get;
            const PATH: &'static str = $path;

            fn check(&self) -> Result<(), CallError> {
                folder_named(&self.folder)
            }

            async fn run(self, (): (), hub: Arc<Hub>) -> Result<$answer, CallError> {
                hub.files(&self.folder, $read).await
            }
        }
    };
}

pub(crate) use about_a_folder;
