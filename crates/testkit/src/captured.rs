//! One request as the fake model got it.

use serde_json::Value;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Captured {
    /// GET, POST, …
    pub method: String,
    /// With the query, as sent.
    pub path: String,
    /// Names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The exact bytes.
    pub body: Vec<u8>,
}

impl Captured {
    /// The body as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the request body is JSON")
    }

    /// What it shows, in order and in whichever of the three protocols: the media type and the base64 of each image and
    /// document.
    ///
    /// # Panics
    /// If it is not JSON, or a part is not as the provider documents it.
    pub fn shown(&self) -> Vec<(String, String)> {
        let mut shown = Vec::new();
        find_shown(&self.json(), &mut shown);
        shown
    }

    /// The first header of this lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

fn find_shown(value: &Value, shown: &mut Vec<(String, String)>) {
    let from_url = |url: &Value| {
        let url = url.as_str().expect("an address").strip_prefix("data:").expect("a data: address");
        let (media_type, data) = url.split_once(";base64,").expect("base64");
        (media_type.to_owned(), data.to_owned())
    };
    match value["type"].as_str() {
        Some("image_url") => return shown.push(from_url(&value["image_url"]["url"])),
        Some("file") => return shown.push(from_url(&value["file"]["file_data"])),
        Some("input_image") => return shown.push(from_url(&value["image_url"])),
        Some("input_file") => return shown.push(from_url(&value["file_data"])),
        Some("image" | "document") => {
            let source = &value["source"];
            assert_eq!(source["type"], "base64");
            let field = |name: &str| source[name].as_str().expect("a text").to_owned();
            return shown.push((field("media_type"), field("data")));
        }
        _ => {}
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| find_shown(item, shown)),
        Value::Object(fields) => fields.values().for_each(|field| find_shown(field, shown)),
        _ => {}
    }
}
