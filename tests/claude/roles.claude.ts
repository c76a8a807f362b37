/** Roles, with sessions of the real client: what their tools are denied, and what runs. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Turn } from "./model.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import type { ClaudeSession } from "./session.ts";
import { World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  world.write("prices.ts", "export const total = (n: number) => n * 3;\n");
  world.write("prices.test.ts", "expect(total(1)).toBe(3);\n");
  await world.up({ KITE_GATES: "team" });
});
afterEach(() => world.dispose());

const read = (id: string, file: string) => call(id, "Read", { file_path: world.path(file) });
const bash = (id: string, command: string) => call(id, "Bash", { command, description: "Look" });
const edit = (id: string, file: string, from: string, to: string) =>
  call(id, "Edit", { file_path: world.path(file), old_string: from, new_string: to });

async function start(name: string, script: readonly (Turn | Promise<Turn>)[]): Promise<ClaudeSession> {
  return await world.session(name, script, { settings: { permissions: { allow: ["Bash"] } } });
}

/** A person gives the session a role. */
async function give(session: ClaudeSession, role: string): Promise<void> {
  const { sessions } = JSON.parse(await world.kite("sessions", "--json"));
  const [row] = sessions.filter(({ id }: { readonly id: string }) => id === session.id);
  await world.kite("role", session.id, role, "--project", row.project);
}

describe("an agent with a role that a person gave it", () => {
  test("as a researcher reads, and is denied an edit and a commit with words", async () => {
    const given = new Moment();
    const ann = await start("ann", [
      read("toolu_read", "prices.ts"),
      given.before(edit("toolu_edit", "prices.ts", "n * 3", "n * 2")),
      bash("toolu_commit", "git commit -qam double"),
      bash("toolu_log", "git status --short"),
      say("Done."),
    ]);
    await ann.asked(2);
    await give(ann, "researcher");
    given.reached();
    expect(await ann.ended).toBe(0);
    const denied = ann.model.result("toolu_edit");
    expect(denied.isError).toBe(true);
    expect(denied.text).toContain(
      "you are researcher (your user gave you that role), which changes no files",
    );
    const commit = ann.model.result("toolu_commit");
    expect(commit.isError).toBe(true);
    expect(commit.text).toContain("which runs no git command that writes (git commit)");
    expect(ann.model.result("toolu_log").isError).toBe(false);
    expect(world.read("prices.ts")).toContain("n * 3");
  });

  test("as a tester changes a test, and is denied code", async () => {
    const given = new Moment();
    const ann = await start("ann", [
      read("toolu_test", "prices.test.ts"),
      read("toolu_code", "prices.ts"),
      given.before(edit("toolu_passes", "prices.test.ts", "toBe(3)", "toBe(2)")),
      edit("toolu_denied", "prices.ts", "n * 3", "n * 2"),
      say("Done."),
    ]);
    await ann.asked(3);
    await give(ann, "tester");
    given.reached();
    expect(await ann.ended).toBe(0);
    expect(ann.model.result("toolu_passes").isError).toBe(false);
    expect(world.read("prices.test.ts")).toContain("toBe(2)");
    const denied = ann.model.result("toolu_denied");
    expect(denied.isError).toBe(true);
    expect(denied.text).toContain("changes tests only");
    expect(world.read("prices.ts")).toContain("n * 3");
  });
});
