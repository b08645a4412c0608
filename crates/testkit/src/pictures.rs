//! Files with the structure of images and documents. They show nothing: who reads them looks at headers and lengths.

/// One file of each kind that models are shown, 40 pixels wide and 30 high: its usual name, its media type, its bytes.
pub fn pictures() -> [(&'static str, &'static str, Vec<u8>); 4] {
    [
        ("a.png", "image/png", png(40, 30)),
        ("b.jpg", "image/jpeg", jpeg(40, 30)),
        ("c.gif", "image/gif", gif(40, 30)),
        ("d.webp", "image/webp", webp(40, 30)),
    ]
}

/// A PNG image of this size.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes()[..], &[8, 2, 0, 0, 0]].concat();
    for (name, data) in [(b"IHDR", header), (b"IDAT", vec![0; 20]), (b"IEND", Vec::new())] {
        bytes.extend(u32::try_from(data.len()).expect("a short chunk").to_be_bytes());
        bytes.extend(name);
        bytes.extend(data);
        bytes.extend([0; 4]);
    }
    bytes
}

/// A JPEG image of this size.
pub fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let [w1, w2] = width.to_be_bytes();
    let [h1, h2] = height.to_be_bytes();
    let mut bytes = vec![0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2];
    bytes.extend([0xFF, 0xC0, 0, 11, 8, h1, h2, w1, w2, 1, 1, 0x11, 0]);
    bytes.extend([0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0xAB, 0xFF, 0, 0xCD, 0xFF, 0xD9]);
    bytes
}

/// A GIF image of this size.
pub fn gif(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = b"GIF89a".to_vec();
    bytes.extend(width.to_le_bytes());
    bytes.extend(height.to_le_bytes());
    bytes.extend([0x80, 0, 0, 0, 0, 0, 255, 255, 255]);
    bytes.extend([b'!', 0xF9, 4, 1, 0, 0, 0, 0]);
    bytes.extend([b',', 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, b';']);
    bytes
}

/// A WebP image of this size.
pub fn webp(width: u32, height: u32) -> Vec<u8> {
    let mut picture = b"WEBPVP8L".to_vec();
    picture.extend([6, 0, 0, 0, 0x2F]);
    picture.extend(((width - 1) | ((height - 1) << 14)).to_le_bytes());
    picture.push(0);
    let length = u32::try_from(picture.len()).expect("a short file");
    [b"RIFF", &length.to_le_bytes()[..], &picture].concat()
}

/// A PDF document.
pub fn pdf() -> Vec<u8> {
    b"%PDF-1.4\n%\x80\x81\x00\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\nstartxref\n0\n%%EOF\n"
        .to_vec()
}
