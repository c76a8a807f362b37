/** `kite watch` in a terminal beside a session of the real client: what its keys show, and what reaches the session. */
import { beforeEach, expect, test } from "vitest";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import { Terminal } from "./terminal.ts";
import { World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  await world.up();
  return () => world.dispose();
});

/** `kite watch`, as a person opens it in the repository. */
function watch(): Terminal {
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: world.folder("home"),
    KITE_HOME: world.paths.home,
    TERM: "xterm",
    NO_COLOR: "1",
  };
  const terminal = new Terminal(`'${process.execPath}' '${programs.kite}' watch`, world.repository, env);
  world.add({ dispose: () => terminal.close() });
  return terminal;
}

test("a session comes to the screen, is explained, and reads a message at its next step", async () => {
  const [written, messaged] = [new Moment(), new Moment()];
  const write = (id: string, content: string) =>
    call(id, "Write", { file_path: world.path("notes.txt"), content });
  const terminal = watch();
  await terminal.shows("No sessions.");
  const ann = await world.session("ann", [
    written.before(write("toolu_1", "one\n")),
    messaged.before(write("toolu_2", "two\n")),
    say("Done."),
  ]);
  await ann.asked(1);
  const name = (await world.status()).sessions.find(({ id }) => id === ann.id)?.name ?? "";
  await terminal.shows(`> ${name}`);
  written.reached();
  await ann.asked(2);
  terminal.type("e");
  await terminal.shows(`${name} holds notes.txt since`);
  // Back, and what it says is not yet sent.
  terminal.type("\u001bmlook at the limits");
  await terminal.shows(`to ${name}: look at the limits_`);
  expect(ann.model.notes.join("\n")).not.toContain("look at the limits");
  terminal.type("\r");
  await terminal.shows("sent");
  messaged.reached();
  await ann.asked(3);
  expect(ann.model.notes.at(-1)).toContain("look at the limits");
  expect(await ann.ended).toBe(0);
});
