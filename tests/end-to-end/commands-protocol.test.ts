/** protocol/WIRE.md says what is so: its examples are played against the real daemon, its lists are complete. */
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codes } from "../../protocol/codes.ts";
import { queryTargets } from "../../protocol/schemas/daemon.ts";
import { requests } from "../../protocol/schemas/requests.ts";
import { Home } from "./daemon.ts";

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const reference = readFileSync(at("protocol/WIRE.md"), "utf8");
const examples = [...reference.matchAll(/```wire\n(.*?)```/gs)].map(match =>
  (match[1] ?? "").trim().split("\n"),
);

let home: Home;

beforeAll(async () => {
  home = new Home({ work: "shop" });
  await home.start();
});
afterAll(() => home.dispose());

/** What differs from start to start, made equal. */
function normal(line: string): unknown {
  const text = line
    .replaceAll(home.work, "/home/ana/shop")
    .replace(/"[0-9a-f]{10}\.(\d+)\.(\d+)"/g, '"TOKEN.$1.$2"')
    .replace(/\b([atd]|mg)-[0-9a-z]{8}-/g, "$1-TIME-")
    .replace(/"(createdAt|updatedAt|declaredAt|queuedAt|changedAt)":\d+/g, '"$1":0');
  return JSON.parse(text);
}

/** Plays one example: every `←` must be the next line that comes. */
async function play(lines: readonly string[], socket: Socket): Promise<void> {
  const received = createInterface({ input: socket })[Symbol.asyncIterator]();
  for (const line of lines) {
    const text = line.slice(2);
    if (line.startsWith("→")) socket.write(`${text.replaceAll("/home/ana/shop", home.work)}\n`);
    else {
      const next = await received.next();
      expect(next.done).not.toBe(true);
      expect(normal(String(next.value))).toEqual(normal(text));
    }
  }
}

describe("protocol/WIRE.md", () => {
  test.each(examples.map((lines, i) => [i + 1, lines] as const))(
    "example %i is what happens",
    async (_, lines) => {
      expect(lines.filter(line => /^[→←] /.test(line))).toEqual(lines);
      const socket = connect(home.paths.socket);
      try {
        await play(lines, socket);
      } finally {
        socket.destroy();
      }
    },
  );

  test("has examples", () => {
    expect(examples.length).toBeGreaterThan(1);
  });

  test("what it says of project and id in query: whose rows, not who asks", async () => {
    const [one, two] = await Promise.all(
      ["q1", "q2"].map(id => home.session(id, { project: `project-${id}` })),
    );
    for (const [id, client] of [
      ["q1", one],
      ["q2", two],
    ] as const) {
      const lock = { type: "file_lock", id, file: `${home.work}/${id}.ts` };
      expect(await client?.ask(lock)).toMatchObject({ ok: true });
    }
    const holders = async (more: object) => {
      const reply = await one?.ask({ type: "query", target: "locks", ...more });
      const rows = reply?.["rows"] as { holder: { id: string } }[];
      return rows.map(({ holder }) => holder.id).filter(id => /^q\d$/.test(id));
    };
    expect((await holders({})).sort()).toEqual(["q1", "q2"]);
    expect(await holders({ project: "project-q2" })).toEqual(["q2"]);
    expect(await holders({ id: "q2" })).toEqual(["q2"]);
    expect(await one?.ask({ type: "file_unlock", id: "q1", file: "other.ts" })).toMatchObject({ ok: false });
    const refusals = (more: object) => two?.ask({ type: "query", target: "refusals", ...more });
    const all = await refusals({});
    expect(all).toMatchObject({ rows: expect.arrayContaining([expect.objectContaining({ id: "q1" })]) });
    expect(await refusals({ id: "q2", project: "project-q2" })).toEqual(all);
  });

  test("names every request, code, event and target, and no other", () => {
    const files = readdirSync(at("protocol"), { recursive: true, encoding: "utf8" }).filter(name =>
      name.endsWith(".ts"),
    );
    const texts = files.map(name => readFileSync(at(`protocol/${name}`), "utf8"));
    const events = texts
      .flatMap(text => [...text.matchAll(/readonly event: ("\w+"(?: \| "\w+")*)/g)])
      .flatMap(([, names = ""]) => names.match(/\w+/g) ?? []);
    const firstCells = [...reference.matchAll(/^\| `(\w+)` +\|/gm)].map(m => m[1]);
    const known = [...Object.keys(requests), ...events, ...Object.keys(codes), ...queryTargets];
    expect(firstCells.sort()).toEqual(known.sort());
  });
});
