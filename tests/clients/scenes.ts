/** The scenes that each client has to play, and what they are played in. */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { KiteClient } from "../../client/client.ts";
import { Moment } from "../claude/script.ts";
import { World } from "../claude/world.ts";
import type { Script, Turn } from "./model.ts";
import { ClientSession, type RealClient } from "./session.ts";

const kite = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));
const lines = "one\ntwo\nthree\n";

/** A world for each test, with three files that are committed. */
export function eachWorld(): () => World {
  let world: World;
  beforeEach(async () => {
    world = await World.create({ claude: "", kite });
    for (const name of ["a.ts", "b.ts", "c.ts"]) world.write(name, lines);
    const git = (...args: readonly string[]) =>
      execFileSync("git", ["-C", world.repository, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
    git("add", "-A");
    git("commit", "-qm", "first");
    return () => world.dispose();
  });
  return () => world;
}

/** Another agent, which locks a file: until its work is done, or with `bind` as long as its command runs. */
export async function holderOf(world: World, bind = false, file = "a.ts"): Promise<KiteClient> {
  const client = await KiteClient.connect({ paths: world.paths });
  await client.request("register", { id: "holder", cwd: world.repository, name: "holder" });
  await client.request("file_lock", { id: "holder", file: world.path(file), bind });
  return client;
}

/** The session came to its end, and its script was played to the end. */
export async function endsWell(session: ClientSession): Promise<void> {
  expect(await session.ended).toBe(0);
  expect(session.model.surprises).toEqual([]);
}

/** The id of the one session of the client that the daemon knows besides `others`. */
export async function idOf(world: World, client: RealClient, ...others: readonly string[]): Promise<string> {
  const { sessions } = await world.status();
  const found = sessions.filter(session => session.client === client.name && !others.includes(session.id));
  expect(found).toHaveLength(1);
  return found[0]?.id ?? "";
}

export function scenes(client: RealClient): void {
  const world = eachWorld();
  const start = (script: Script, hookMs?: number) =>
    ClientSession.start(client, world(), client.name, script, hookMs === undefined ? {} : { hookMs });
  const edit = (id: string, file: string, from: string, to: string): Turn => ({
    calls: [client.edit(id, world().path(file), from, to)],
  });
  const line = (id: string, command: string): Turn => ({ calls: [client.line(id, command)] });

  test("an edit waits for another agent's lock, and is made when that is free", async () => {
    const watch = await world().up();
    const holder = await holderOf(world(), true);
    const begins = new Moment();
    const session = await start([begins.before(edit("c1", "a.ts", "one", "ONE")), { say: "Done." }]);
    await session.model.asked(1);
    expect(session.model.text).toContain("holder");
    const id = await idOf(world(), client);
    begins.reached();
    await watch.queued(id);
    expect(world().read("a.ts")).toBe(lines);
    await holder.request("file_unlock", { id: "holder", file: world().path("a.ts") });
    await endsWell(session);
    holder.close();
    expect(world().read("a.ts")).toBe("ONE\ntwo\nthree\n");
    expect(await world().status()).toMatchObject({ refusals: [], locks: [], sessions: [{ id: "holder" }] });
  });

  test("an edit of a file that another agent keeps is denied with the reason, and the session goes on", async () => {
    await world().up();
    const holder = await holderOf(world());
    const session = await start([
      edit("c1", "a.ts", "one", "ONE"),
      edit("c2", "b.ts", "one", "ONE"),
      { say: "Done." },
    ]);
    await endsWell(session);
    holder.close();
    expect(session.model.result("c1")).toContain(`${client.deniedBy}Kite: this `);
    expect(session.model.result("c1")).toContain("another agent holds the file");
    expect(world().read("a.ts")).toBe(lines);
    expect(world().read("b.ts")).toBe("ONE\ntwo\nthree\n");
  });

  test("a stash is stopped over another agent's uncommitted work", async () => {
    await world().up();
    const holder = await holderOf(world());
    world().write("a.ts", "ONE\ntwo\nthree\n");
    await holder.request("hook", {
      event: {
        hook_event_name: "PostToolUse",
        session_id: "holder",
        tool_name: "Write",
        tool_use_id: "t1",
        cwd: world().repository,
        tool_input: { file_path: world().path("a.ts") },
      },
    });
    const session = await start([
      line("c1", "git stash"),
      line("c2", "git status --short"),
      { say: "Done." },
    ]);
    await endsWell(session);
    holder.close();
    expect(session.model.result("c1")).toContain(`${client.deniedBy}Kite`);
    expect(session.model.result("c1")).toContain("a.ts");
    expect(session.model.result("c2")).toContain("M a.ts");
    expect(world().read("a.ts")).toBe("ONE\ntwo\nthree\n");
  });

  describe("it goes on working", () => {
    const works = async (hookMs?: number) => {
      const script = [
        edit("c1", "a.ts", "one", "ONE"),
        line("c2", "git stash list; echo ran"),
        { say: "Done." },
      ];
      const session = await start(script, hookMs);
      await endsWell(session);
      expect(world().read("a.ts")).toBe("ONE\ntwo\nthree\n");
      expect(session.model.result("c2")).toContain("ran");
    };

    test("where the daemon was killed", async () => {
      await world().up();
      await world().kill();
      await works();
    });

    test("where the daemon does not answer", async () => {
      await world().up();
      world().freeze();
      await works();
    });

    test("where it ends a hook that waits, by its own time limit", async () => {
      await world().up();
      const holder = await holderOf(world(), true);
      await works(2_000);
      holder.close();
    });

    test("where Kite was removed, and its entries were not", async () => {
      await world().kite("uninstall", "--project", world().repository);
      rmSync(join(world().paths.home, "bin"), { recursive: true, force: true });
      await works();
    });
  });
}
