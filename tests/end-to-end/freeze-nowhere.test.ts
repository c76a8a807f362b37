/** A freeze where no project is would stop nobody: it is asked about on a terminal, else refused with what to do. */
import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freeze } from "../../bin/agents/messages.ts";
import { contextOf } from "../../bin/context/process-context.ts";
import { Home } from "./daemon.ts";

let home: Home;

beforeEach(async () => {
  home = new Home();
  await home.start();
});
afterEach(() => home.dispose());

const freezes = async () => JSON.parse(await home.kite("freeze", "--json")).rows as unknown[];

test("outside any project it is refused without a terminal", async () => {
  const { code, err } = await home.command(["freeze", "a.ts"]);
  expect(code).toBe(1);
  expect(err.replace(/\s+/g, " ")).toMatch(
    /^kite: .* is in no repository, and no session works there, so a freeze would stop nobody; go into the project, or name it: --project DIRECTORY $/,
  );
  expect(await freezes()).toEqual([]);
});

test("a repository, and a directory where a session works, are projects", async () => {
  await home.session("alice", { name: "alice", project: undefined });
  expect(await home.command(["freeze", "a.ts"])).toMatchObject({ code: 0 });
  expect(await freezes()).toHaveLength(1);
});

test("a repository without sessions is a project", async () => {
  execFileSync("git", ["init", "-q", home.work], { env: home.environment });
  expect(await home.command(["freeze", "a.ts"])).toMatchObject({ code: 0 });
});

test.each([
  ["no", 1, 0],
  ["y", 0, 1],
])("on a terminal it asks: %s", async (answer, code, count) => {
  const questions: string[] = [];
  const sink = { write: () => {} };
  const call = {
    argv: ["node", "kite"],
    env: home.environment,
    cwd: () => home.work,
    stdout: sink,
    stderr: sink,
  };
  const said = await freeze(contextOf(call), ["a.ts"], { for: "5m" }, async question => {
    questions.push(question);
    return answer;
  });
  expect(said).toBe(code);
  expect(questions).toEqual(["Freeze all the same? [y/N] "]);
  expect(await freezes()).toHaveLength(count);
});
