import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import type { Turn } from "./model.ts";
import { call, Moment, say } from "./script.ts";
import { World } from "./world.ts";

/** Two sessions of the real client: a script of one wipes the other's work, and the line that both are told brings it back. */
const programs = {
  claude: process.env["KITE_TEST_CLAUDE"] ?? "",
  kite: fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url)),
};
if (programs.claude === "")
  throw new Error("these tests need the real client; run them with: npm run test:claude");

const settings = { permissions: { allow: ["Bash"] } };
const annsText = "ann.txt\nann's work, not committed\nits second line";

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  world.write("ann.txt", "ann.txt\n");
  world.write("clean.sh", "git checkout -q .\nrm -f new.txt\n");
  git("add", "ann.txt", "clean.sh");
  git("commit", "-qm", "first");
  await world.up();
  return () => world.dispose();
});

function git(...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
  const env = { PATH: process.env["PATH"], HOME: tmpdir(), GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", [...who, ...args], { cwd: world.repository, env, encoding: "utf8" });
}

const bash = (id: string, command: string): Turn => call(id, "Bash", { command, description: "clean up" });
const write = (id: string, file: string, content: string): Turn =>
  call(id, "Write", { file_path: world.path(file), content });

/** The command at the end of the line that tells of the wipe, in what the client's model read. */
function toldIn(notes: readonly string[], words: string): string | undefined {
  return new RegExp(`${words}.*: kite (rescue restore \\S+)$`, "m").exec(notes.join("\n"))?.[1];
}

test("a script of one session wipes the other's work: both read the line that brings it back", async () => {
  const bobIsDone = new Moment();
  const ann = await world.session(
    "ann",
    [
      call("toolu_read", "Read", { file_path: world.path("ann.txt") }),
      write("toolu_ann", "ann.txt", annsText),
      write("toolu_new", "new.txt", annsText),
      bobIsDone.before(bash("toolu_look", "ls && git status --short")),
      say("Done."),
    ],
    { settings },
  );
  await ann.asked(4);
  // The client shows what such an answer says with a call after it.
  const script = [
    bash("toolu_clean", "bash clean.sh"),
    bash("toolu_sleeps", "sleep 2"),
    bash("toolu_goes_on", "true"),
    say("Done."),
  ];
  const bob = await world.session("bob", script, { settings });
  expect(await bob.ended).toBe(0);
  expect(world.read("ann.txt")).toBe("ann.txt\n");
  bobIsDone.reached();
  expect(await ann.ended).toBe(0);
  const toBob = toldIn(bob.model.notes, "which you ran, wiped uncommitted work of");
  const toAnn = toldIn(ann.model.notes, "your uncommitted work was wiped while `bash` of");
  expect([toBob, toAnn]).toEqual(["rescue restore r-1", "rescue restore r-1"]);
  await world.kite(...(toAnn ?? "").split(" "));
  expect([world.read("ann.txt"), world.read("new.txt")]).toEqual([annsText, annsText]);
});
