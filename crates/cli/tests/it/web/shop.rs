//! A small shop whose agents add discount codes to its cart: enough of everything to look at. Its sessions wait for a person.

use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use super::stage::Stage;

const CART: &str = "\"\"\"The cart of the shop.\"\"\"


class Cart:
    def __init__(self):
        self.items = []

    def add(self, name, price, count=1):
        self.items.append((name, price, count))

    def total(self):
        total = 0
        for name, price, count in self.items:
            total += price * count
        return total

    def clear(self):
        self.items = []

    def count(self):
        return sum(count for _, _, count in self.items)
";

const TESTS: &str = "import unittest
from cart import Cart
from codes import Code


class DiscountTest(unittest.TestCase):
    def test_ten_percent(self):
        cart = Cart()
        cart.add('tea', 20)
        cart.redeem(Code('SPRING', percent=10))
        self.assertEqual(cart.total(), 18)
";

const FOUND: &str = "SUMMARY: `Cart.total()` in cart.py is the only place that sums prices; nothing rounds.\nCHANGES: None.\nEVIDENCE: cart.py:11-15\nRISKS: None.\nBLOCKERS: None.";
const LANDED: &str = "SUMMARY: A cart redeems one code, and `total()` takes it off.\nCHANGES: cart.py, codes.py\nEVIDENCE: cart.py:11\nRISKS: A second code replaces the first.\nBLOCKERS: None.";
const JUDGED: &str = "SUMMARY: One finding: a code of more than 100% makes the total negative (codes.py:5).\nCHANGES: None.\nEVIDENCE: codes.py:5\nRISKS: None.\nBLOCKERS: None.";

pub(super) fn project() -> Fixture {
    Fixture::new().file("cart.py", CART).file("README.md", "# Shop\n\nA cart, and what is in it.\n").git()
}

fn agent(name: &str, role: &str, title: &str, prompt: &str) -> Value {
    json!({"action": "start", "name": name, "role": role, "title": title, "prompt": prompt, "background": false})
}

fn edit(path: &str, old: &str, new: &str) -> Turn {
    Turn::call("edit_file", json!({"path": path, "old_text": old, "new_text": new}))
}

/// The session that asks whether it may run its tests.
pub(super) fn script_discount(stage: &Stage) {
    let explore = agent(
        "explorer",
        "explore",
        "find where prices are summed",
        "Where does the cart sum up prices, and does anything round them?",
    );
    let discount = agent(
        "discount",
        "general",
        "discount codes for the cart",
        "Add discount codes to the cart: one code per cart, in percent. Have it implemented and tested.",
    );
    let implement = agent(
        "implementer",
        "implementer",
        "redeem a code",
        "Add Cart.redeem(code); total() takes the code off.",
    );
    let tests =
        agent("tests", "general", "tests for codes", "Write tests for discount codes and have them run.");
    let verify = agent("verifier", "verifier", "run the tests", "Run the tests and say what fails.");
    let review = agent("reviewer", "review", "judge the new code", "Is anything wrong with codes.py?");
    let plan = "I will look where prices are summed, then have it changed and tested:\n\n1. **find** every place that sums prices\n2. **add** `Cart.redeem(code)`\n3. **test** it, and have the change reviewed";
    stage.script(
        "main",
        [
            Turn::call("agent", explore).and_text(plan),
            Turn::call("agent", discount).and_text("One place sums, and nothing rounds. Now the change."),
        ],
    );
    let read = |path: &str| Turn::call("read_file", json!({"path": path}));
    stage.script(
        "explorer",
        [read("cart.py"), Turn::call("search", json!({"pattern": "total"})), Turn::text(FOUND)],
    );
    stage.script(
        "discount",
        [Turn::call("agent", implement), Turn::call("agent", review), Turn::call("agent", tests)],
    );
    stage.script(
        "implementer",
        [
            Turn::call("write_file", json!({"path": "codes.py", "content": "class Code:\n    def __init__(self, name, percent):\n        self.name = name\n        self.percent = percent\n\n    def off(self, total):\n        return total * (100 - self.percent) / 100\n"})),
            edit("cart.py", "        self.items = []\n\n    def add", "        self.items = []\n        self.code = None\n\n    def redeem(self, code):\n        \"\"\"One code a cart: the last one counts.\"\"\"\n        self.code = code\n\n    def add"),
            edit("cart.py", "            total += price * count\n        return total", "            total += price * count\n        return self.code.off(total) if self.code else total"),
            Turn::text(LANDED),
        ],
    );
    stage.script("reviewer", [read("codes.py"), Turn::text(JUDGED)]);
    stage.script(
        "tests",
        [
            Turn::call("write_file", json!({"path": "test_codes.py", "content": TESTS})),
            Turn::call("agent", verify),
        ],
    );
    stage.script("verifier", [Turn::call("shell", json!({"command": "python3 -m unittest -q test_codes"}))]);
}

/// Two that are over, from a terminal.
pub(super) fn earlier(stage: &Stage) {
    let explore = agent("explorer", "explore", "read the cart", "What does the cart do?");
    stage.script("main", [Turn::call("agent", explore), Turn::text("It keeps items and sums their prices.")]);
    stage.script("explorer", [Turn::text(FOUND)]);
    let ran = stage.person.posse(&["run", "Explain how the cart sums up prices"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    stage.script(
        "main",
        [edit("README.md", "A cart,", "A cart, its codes,"), Turn::text("Done: the README names the codes.")],
    );
    let ran = stage.person.posse(&["run", "Name the discount codes in the README"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}
