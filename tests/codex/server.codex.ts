/**
 * Codex in a window. A server of its own in the background runs the session's turns, and outlives the window: Kite goes by the
 * server.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { KiteClient } from "../../client/client.ts";
import { gone, processesAt } from "../claude/processes.ts";
import { programs } from "../claude/programs.ts";
import { Moment } from "../claude/script.ts";
import { Terminal } from "../claude/terminal.ts";
import { World } from "../claude/world.ts";
import { ScriptedModel, type Turn } from "../clients/model.ts";
import { change, codex, configure, patch } from "./codex.ts";

let world: World;
let home: string;
let env: Record<string, string>;

beforeEach(async () => {
  world = await World.create(programs);
  for (const name of ["a.ts", "b.ts"]) world.write(name, "one\n");
  home = world.folder("user");
  const bin = join(home, "bin");
  mkdirSync(bin);
  symlinkSync(process.env["KITE_TEST_CODEX"] ?? "", join(bin, "codex"));
  const path = `${bin}:${process.env["PATH"] ?? ""}`;
  env = { HOME: home, KITE_HOME: world.paths.home, PATH: path, TMPDIR: home, TERM: "xterm" };
  return () => world.dispose();
});

/** The processes of the person's whose command line has these words. */
function processesOf(words: string): number[] {
  return processesAt(home).filter(pid =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").includes(words),
  );
}

test("a turn goes on when its window closes, keeps its lock until it ends, and its session ends with the server", async () => {
  // A hold that lasts as long as its turn, however slow the machine is.
  const watch = await world.up({ KITE_YIELD_MS: "45000" });
  const goesOn = new Moment();
  const model = await ScriptedModel.start(codex.wire, [
    { calls: [patch("call_1", ...change("a.ts", "one", "two"))] },
    goesOn.before<Turn>({ calls: [patch("call_2", ...change("b.ts", "one", "two"))] }),
    { say: "Done." },
  ]);
  world.add({ dispose: () => model.close() });
  configure(join(home, ".codex"), model.url, world.repository);
  const install = [programs.kite, "install", "--client", "codex", "--trust"];
  execFileSync(process.execPath, install, { cwd: home, env });
  const window = new Terminal("codex Begin.", world.repository, env);
  await model.asked(2);
  const [session] = (await world.status()).sessions;
  const [server = Number.NaN] = processesOf("app-server --listen");
  const { id = "" } = session ?? {};
  expect(session).toMatchObject({ client: "codex", status: "active", pid: server });
  const clients = processesOf("codex Begin.");
  await window.close();
  for (const client of clients) await gone(client);

  const next = await KiteClient.connect({ paths: world.paths });
  await next.request("register", { id: "next", cwd: world.repository });
  const granted = next.request("file_lock", { id: "next", file: world.path("a.ts") });
  await watch.queued("next");
  expect((await world.status()).sessions).toContainEqual(expect.objectContaining({ id, status: "active" }));
  goesOn.reached();
  expect(await granted).toMatchObject({ ok: true });
  expect(world.read("b.ts")).toBe("two\n");
  expect((await world.status()).sessions).toContainEqual(expect.objectContaining({ id, status: "idle" }));
  next.close();
  process.kill(server, "SIGKILL");
  await watch.ended(id);
  expect(model.surprises).toEqual([]);
});
