/** The tests' own way to run commands in their process: it keeps off the home of whoever runs the tests. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { kite } from "../end-to-end/kite.ts";

const cwd = tmpdir();
const own = { HOME: join(cwd, "kite-here"), KITE_HOME: join(cwd, "kite-here", "h") };

test.each([
  ["no home", {}],
  ["this process' home", { HOME: process.env["HOME"] }],
  ["an empty one", { HOME: "", KITE_HOME: "" }],
])("a command with %s is refused", async (_, env) => {
  await expect(kite({ cwd, env }, ["--version"])).rejects.toThrow("a home of its own");
});

test("a daemon in the foreground is refused: it reads this process' environment, and ends this process", async () => {
  const args = ["up", "--unless-down", "--foreground"];
  await expect(kite({ cwd, env: own }, args)).rejects.toThrow("as a process");
});

test("a command with a home of its own runs", async () => {
  expect(await kite({ cwd, env: own }, ["--version"])).toMatchObject({ code: 0, err: "" });
});
