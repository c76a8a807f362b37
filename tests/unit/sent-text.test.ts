import { expect, test } from "vitest";
import { payload, plan } from "./hook-events.ts";

/** The text that the end of the write carries; undefined: there is none. */
function sentBy(event: Record<string, unknown>): string | null | undefined {
  for (const action of plan(event).actions) if (action.do === "flight_end") return action.sent?.text();
  throw new Error("no write ended");
}

const edit = payload("PostToolUse--Edit");
const edited = (response: object) => ({
  ...edit,
  tool_response: { ...(edit["tool_response"] as object), ...response },
});

test("of a Write it is the content, of a notebook the updated file", () => {
  expect(sentBy(payload("PostToolUse--Write"))).toBe("hello\n");
  const notebook = sentBy(payload("PostToolUse--NotebookEdit"));
  expect(JSON.parse(notebook ?? "")).toMatchObject({ cells: [{ source: "print(2)" }] });
});

test("of an Edit it is made of the file before", () => {
  expect(sentBy(edit)).toBe("one\nTWO\nthree\n");
  expect(sentBy(edited({ originalFile: "two two", replaceAll: true }))).toBe("TWO TWO");
  expect(sentBy(edited({ originalFile: "two two" }))).toBe("TWO two");
  // A pattern of the language's own replacement is no pattern here.
  expect(sentBy(edited({ newString: "$&$1" }))).toBe("one\n$&$1\nthree\n");
  expect(sentBy(edited({ originalFile: "", oldString: "", newString: "new" }))).toBe("new");
});

test("is unknown where the event does not say it, or a person changed it", () => {
  expect(sentBy(edited({ originalFile: "other" }))).toBeNull();
  expect(sentBy(edited({ originalFile: "other", oldString: "" }))).toBeNull();
  expect(sentBy(edited({ originalFile: 7 }))).toBeUndefined();
  expect(sentBy(edited({ userModified: true }))).toBeUndefined();
  const huge = { originalFile: "two ".repeat(20_000), newString: "x".repeat(10_000), replaceAll: true };
  expect(sentBy(edited(huge))).toBeNull();
});

test("is none of a write that failed", () => {
  expect(sentBy({ ...edit, hook_event_name: "PostToolUseFailure", error: "no" })).toBeUndefined();
});

test("a shell line's end names its first program and no other word", () => {
  const program = (command: string) => {
    const event = { ...payload("PostToolUse--Bash"), tool_input: { command } };
    for (const action of plan(event).actions) if (action.do === "shell_end") return action.program;
    throw new Error("no line ended");
  };
  expect(program("  /usr/bin/python3 x.py --password=hunter2")).toBe("python3");
  expect(program("make")).toBe("make");
  for (const line of ["TOKEN=hunter2 make", "'hunter2' x", "(hunter2)", "$HUNTER2", "", "hunter2;ls"])
    expect(program(line)).toBeUndefined();
});
