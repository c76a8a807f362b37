/** `kite man` on a terminal, with a program in the place of man. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { run } from "../../bin/program.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** Runs the command on a terminal or in a pipe; returns its exit code and what it wrote itself. */
async function man(PATH: string, isTTY: boolean) {
  let out = "";
  const stdout = { isTTY, columns: 80, write: (text: string) => (out += text) };
  const call = {
    argv: ["node", "kite", "man"],
    env: { PATH, HOME: "/none" },
    stdout,
    stderr: stdout,
    cwd: () => "/",
  };
  return { code: await run(call, commands), out };
}

it("opens the page on a terminal, where there is man, and ends as man does", async () => {
  const folder = temporaryFolder("kite-man-");
  const shown = join(folder, "shown");
  writeFileSync(join(folder, "man"), `#!/bin/sh\n/bin/cat "$1" > ${shown}\nexit 3\n`);
  chmodSync(join(folder, "man"), 0o755);
  expect(await man(folder, true)).toEqual({ code: 3, out: "" });
  const page = readFileSync(shown, "utf8");
  expect(page).toContain(".TH KITE 1");
  expect(await man(folder, false)).toEqual({ code: 0, out: page });
  expect(await man("/none", true)).toEqual({ code: 0, out: page });
});
