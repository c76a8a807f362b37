/** What a command does of what it asks about: nothing without a yes. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { down } from "../../bin/commands/daemon.ts";
import { isYes } from "../../bin/context/person.ts";
import { fixAll } from "../../bin/doctor/doctor.ts";
import { repair } from "../../bin/doctor/repair.ts";
import type { Check, Fix } from "../../bin/doctor/results.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";
import { busy } from "./view-rows.ts";

const noes = ["n", "N", "no", "", " ", "yn", "yesno", "oui"];
const yeses = ["y", "Y", "yes", " YES "];

it("a yes is a whole word", () => {
  expect(noes.filter(isYes)).toEqual([]);
  expect(yeses.filter(isYes)).toEqual(yeses);
});

describe("a fix of kite doctor", () => {
  let done: readonly string[] = [];
  let asked = 0;

  beforeEach(() => {
    done = [];
    asked = 0;
  });

  const who = { ask: null, isQuiet: true, isAgent: false };
  const check = (does: string, more: Partial<Fix> = {}): Check => {
    const work = () => {
      done = [...done, does];
      return "";
    };
    return { check: does, result: "fail", detail: "", fix: { does, work, ...more } };
  };
  const answers =
    (...all: readonly string[]) =>
    async () => {
      asked += 1;
      return all[asked - 1] ?? "";
    };

  it.each(noes)("that is answered with %j is not done", async answer => {
    const world = fakeWorld();
    const again = () => Promise.reject(new Error("nothing was done, so nothing is checked again"));
    const { steps } = await fixAll(
      world,
      [check("a")],
      { ...who, ask: answers(answer), isQuiet: false },
      again,
    );
    expect([asked, done, steps]).toEqual([1, [], []]);
    expect(world.out()).not.toContain("done");
  });

  it.each(yeses)("that is answered with %j is done", async answer => {
    const { steps } = await fixAll(
      fakeWorld(),
      [check("a")],
      { ...who, ask: answers(answer) },
      async () => [],
    );
    expect([done, steps]).toEqual([["a"], [{ fix: "a" }]]);
  });

  it("is asked about by itself, and not again once it was answered", async () => {
    const all = () => ["a", "b", "c"].map(does => check(does));
    const ask = answers("n", "y", "n");
    const { steps } = await fixAll(fakeWorld(), all(), { ...who, ask }, async () => all());
    expect([asked, done, steps]).toEqual([3, ["b"], [{ fix: "b" }]]);
  });

  const kinds = [check("own"), check("up", { byAgents: true }), check("drop", { givesUp: true })];

  it("that gives up what is stored is not done with --yes, and that is said", async () => {
    const { steps } = await fixAll(fakeWorld(), kinds, { ...who, ask: null }, async () => []);
    expect(done).toEqual(["own", "up"]);
    expect(steps[2]?.failed).toMatch(/^--yes does not stand for this: .*; run it yourself: drop$/);
  });

  it("that concerns others is not done by an agent, and the line for its user is said", async () => {
    const world = fakeWorld();
    const agent = { ask: null, isQuiet: false, isAgent: true };
    const { steps } = await fixAll(world, kinds, agent, async () => []);
    expect(done).toEqual(["up"]);
    expect(steps.map(({ failed }) => failed)).toEqual(
      ["own", undefined, "drop"].map(line =>
        line === undefined
          ? line
          : expect.stringMatching(new RegExp(`^only a person does this step; .*: ${line}$`)),
      ),
    );
    expect(world.out()).toContain("only a person does this step");
  });
});

describe("a command that is answered with no", () => {
  const no = async () => "n";

  it("stops no daemon", async () => {
    const home = temporaryFolder("kite-down-");
    const sessions = { ok: true, rows: busy.sessions };
    const whoami = { ok: false, code: "unknown_session", error: "none" };
    const daemon = fakeDaemon({ whoami, "query sessions": sessions });
    const world = fakeWorld({ daemon, home });
    expect(await down(world, {}, no)).toBe(1);
    expect(world.out()).toContain("The daemon goes on.");
    expect(daemon.asked.map(({ type }) => type)).toEqual(["whoami", "query"]);
    // It would keep hooks from starting the next one.
    expect(existsSync(world.paths.downFile)).toBe(false);
  });

  it("changes no damaged journal", async () => {
    const home = temporaryFolder("kite-repair-");
    const world = fakeWorld({ home });
    const { journal } = world.paths;
    mkdirSync(home, { recursive: true });
    cpSync(fileURLToPath(new URL("../fixtures/journals/0.1.0/journal", import.meta.url)), journal, {
      recursive: true,
    });
    for (const name of readdirSync(journal)) {
      if (!name.endsWith(".log")) continue;
      const bytes = readFileSync(join(journal, name));
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      writeFileSync(join(journal, name), bytes);
    }
    const files = () => readdirSync(journal).map(name => [name, readFileSync(join(journal, name), "latin1")]);
    const before = files();
    expect(await repair(world, {}, no)).toBe(1);
    expect(world.out()).toContain("Nothing was changed.");
    expect(files()).toEqual(before);
    expect(readdirSync(home).filter(name => name.includes("damaged"))).toEqual([]);
  });
});
