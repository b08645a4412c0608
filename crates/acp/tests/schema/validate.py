"""Checks messages against the published JSON schema of the Agent Client Protocol.

Reads one JSON object a line: {"message": the whole message, "part": what is checked, "type": its type in the schema, or null}.
Usage: validate.py SCHEMA. Prints what does not fit, and then how many messages were checked.
"""

import json
import sys

import jsonschema_rs

schema = json.load(open(sys.argv[1]))
validators = {}


def validator(name):
    if name not in validators:
        validators[name] = jsonschema_rs.validator_for({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
    return validators[name]


whole = jsonschema_rs.validator_for(schema)
checked, faults = 0, 0
for line in sys.stdin:
    said = json.loads(line)
    problems = [error.message for error in whole.iter_errors(said["message"])]
    if said["type"] is not None:
        problems += [error.message for error in validator(said["type"]).iter_errors(said["part"])]
    for problem in problems:
        faults += 1
        print(f"{json.dumps(said['message'])[:2000]}\n  {problem[:2000]}")
    checked += 1
print(f"checked {checked}")
sys.exit(1 if faults else 0)
