/** The server of `kite web`, asked as a browser, another page and another program of this machine would. */
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Home } from "./daemon.ts";
import type { KiteProcess } from "./kite.ts";

const home = new Home();
const alice = "11111111-1111-4111-8111-111111111111";
const bob = "22222222-2222-4222-8222-222222222222";
const served: KiteProcess[] = [];

beforeAll(async () => {
  await home.start();
  const client = await home.session(alice, { name: "alice", project: "here" });
  await home.session(bob, { name: "bob", project: "elsewhere" });
  await client.ask({ type: "file_lock", id: alice, file: "a.ts", cwd: home.work });
});
afterEach(async () => {
  for (const child of served.splice(0)) {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }
});
afterAll(() => home.dispose());

interface Said {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

interface Serving {
  readonly port: number;
  readonly code: string;
  /** Sends a request; its Host is the server's own unless `headers` has another. */
  ask(path: string, options?: AskOptions): Promise<Said>;
  /** Trades the code. */
  enter(): Promise<{ readonly token: string; readonly folder: string }>;
}

interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
  readonly token?: string;
}

async function serve(env: Record<string, string> = {}, args: readonly string[] = []): Promise<Serving> {
  const child = home.startKite(["web", "--json", ...args], env);
  served.push(child);
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  const { address, port } = JSON.parse(line);
  const code = address.split("#")[1];
  const asks = (path: string, { headers = {}, method = "GET", body = "", token }: AskOptions = {}) =>
    new Promise<Said>((resolve, reject) => {
      const bearer = token === undefined ? {} : { Authorization: `Bearer ${token}` };
      const options = { host: "127.0.0.1", port, path, method, headers: { ...bearer, ...headers } };
      const sent = request(options, answer => {
        let text = "";
        answer.setEncoding("utf8").on("data", piece => {
          text += piece;
        });
        answer.on("end", () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }),
        );
        answer.on("error", reject);
      });
      sent.on("error", reject);
      sent.end(body);
    });
  return {
    port,
    code,
    ask: asks,
    enter: async () =>
      JSON.parse((await asks("/token", { method: "POST", body: JSON.stringify({ code }) })).body),
  };
}

/** The first lines of a stream, until one of the topic came. */
async function firstRows(
  port: number,
  token: string,
  topic: string,
): Promise<{ readonly hello: never; readonly set: readonly { readonly name: string }[] }> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${token}` };
    const sent = request({ host: "127.0.0.1", port, path: `/api/live?topics=${topic}`, headers }, answer => {
      let text = "";
      answer.setEncoding("utf8").on("data", piece => {
        text += piece;
        const lines = text
          .split("\n")
          .slice(0, -1)
          .filter(Boolean)
          .map(line => JSON.parse(line));
        const rows = lines.find(line => line.topic === topic);
        if (rows === undefined) return;
        sent.destroy();
        resolve({ hello: lines[0] as never, set: rows.set });
      });
      answer.on("error", () => {});
    });
    sent.on("error", reject);
    sent.end();
  });
}

describe("without the token", () => {
  test("no address says anything, not even whose page it is", async () => {
    const { ask } = await serve();
    const seen: string[] = [];
    for (const path of [
      "/",
      "/now",
      "/door.js",
      "/favicon.ico",
      "/page.js",
      "/api/live?topics=sessions",
      "/api/explain?kind=agent&name=alice",
      "/api/timeline?from=1",
      "/api/x",
      "/x/page.js",
      "/../package.json",
      "/%2e%2e/%2e%2e/etc/passwd",
      "//evil.example/",
      "//",
      "//:99999/",
      "http://[/",
    ]) {
      const { status, body, headers } = await ask(path);
      expect(status, path).toBeLessThan(500);
      seen.push(body, JSON.stringify(headers));
    }
    seen.push(
      (await ask("/api/do", { method: "POST", body: "{}" })).body,
      (await ask("/token", { method: "POST", body: "{}" })).body,
    );
    expect(seen.join("\n")).not.toMatch(/kite|alice|bob|agent/i);
  });

  test("an address of the page is told from one that is not only by a page without words", async () => {
    const { ask } = await serve();
    const statuses = async (...paths: string[]) =>
      Promise.all(paths.map(async path => (await ask(path)).status));
    expect(await statuses("/", "/now")).toEqual([200, 200]);
    expect(await statuses("/api/live", "/api/explain", "/api/nothing", "/a/b/c")).toEqual([
      404, 404, 404, 404,
    ]);
  });

  test("each answer forbids what a page of another origin could want", async () => {
    const { ask } = await serve();
    for (const path of ["/", "/door.js", "/api/live"]) {
      const { headers } = await ask(path);
      expect(headers["content-security-policy"]).toMatch(
        /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/,
      );
      expect(headers["content-security-policy"]).not.toContain("unsafe");
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
      });
      expect(headers["access-control-allow-origin"]).toBe(undefined);
      expect(headers["set-cookie"]).toBe(undefined);
    }
  });
});

describe("a request that is not the page's own is refused, token or not", () => {
  test.each([
    { host: "rebound.example" },
    { host: "rebound.example:80", origin: "http://rebound.example" },
    { origin: "http://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ])("%j", async headers => {
    const { ask, enter } = await serve();
    const { token, folder } = await enter();
    for (const path of ["/", "/door.js", `/${folder}/page.js`, "/api/explain?kind=agent&name=alice"]) {
      const { status, body } = await ask(path, { headers, token });
      expect([status, body]).toEqual([403, ""]);
    }
    const deed = JSON.stringify({ deed: "unlock", file: join(home.work, "a.ts"), project: "here" });
    expect((await ask("/api/do", { method: "POST", body: deed, headers, token })).status).toBe(403);
  });
});

describe("a code", () => {
  test("opens one page", async () => {
    const { ask, code } = await serve();
    const trade = () => ask("/token", { method: "POST", body: JSON.stringify({ code }) });
    expect((await trade()).status).toBe(200);
    expect((await trade()).status).toBe(404);
  });

  test("is in no program's arguments: a file that only its owner reads leads the browser", async () => {
    // An opener that tells its words, and ends.
    const bin = join(home.root, "opener");
    mkdirSync(bin);
    const opener = join(bin, "xdg-open");
    writeFileSync(opener, '#!/bin/sh\nprintf "%s" "$*" > "$0.words.part"; mv "$0.words.part" "$0.words"\n');
    chmodSync(opener, 0o755);
    const env = { PATH: `${bin}:${process.env["PATH"]}` };
    const { port } = await serve(env, ["--open"]);
    await expect.poll(() => existsSync(`${opener}.words`)).toBe(true);
    const words = readFileSync(`${opener}.words`, "utf8");
    expect(words).toMatch(/\/page-[\w-]+\.html$/);
    expect(statSync(words).mode & 0o777).toBe(0o600);
    const [, code = ""] = /#([\w-]+)"/.exec(readFileSync(words, "utf8")) ?? [];
    expect(readFileSync(words, "utf8")).toContain(`http://127.0.0.1:${port}/#${code}`);
    expect(words).not.toContain(code);
    for (const child of served.splice(0)) {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    }
    expect(readdirSync(home.paths.home).filter(name => name.startsWith("page-"))).toEqual([]);
  });
});

test("a browser that does not open is said, with an address for the person", async () => {
  const bin = join(home.root, "no-opener");
  mkdirSync(bin);
  writeFileSync(join(bin, "xdg-open"), "#!/bin/sh\nexit 3\n", { mode: 0o755 });
  const child = home.startKite(["web", "--open"], { PATH: `${bin}:${process.env["PATH"]}` });
  served.push(child);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", piece => {
    text += piece;
  });
  await expect.poll(() => text).toMatch(/no browser opened the page; open it yourself:\nhttp:\S+#\S+/);
});

describe("who", () => {
  test("a person sees all projects, and may act as on the command line", async () => {
    const { port, ask, enter } = await serve();
    const { token } = await enter();
    const { hello, set } = await firstRows(port, token, "sessions");
    expect(hello).toMatchObject({ kind: "hello", viewer: { isPerson: true, project: null } });
    expect(set.map(({ name }) => name).sort()).toEqual(["alice", "bob"]);
    const act = async (deed: object) =>
      JSON.parse((await ask("/api/do", { method: "POST", body: JSON.stringify(deed), token })).body);
    const file = join(home.work, "a.ts");
    expect(await act({ deed: "unlock", file, project: "here" })).toEqual({
      ok: true,
      text: expect.stringContaining("released"),
    });
    expect(await act({ deed: "unlock", file, project: "here" })).toEqual({
      ok: false,
      text: expect.stringContaining("not locked"),
    });
    const log = () => home.kite("log", "--json", "-n", "50");
    await expect.poll(log).toMatch(/"event":"file_unlock"[^\n]*a person/);
  });

  test("an agent sees its own project, and may do nothing", async () => {
    const { port, ask, enter } = await serve({ KITE_SESSION: alice });
    const { token } = await enter();
    const { hello, set } = await firstRows(port, token, "sessions");
    expect(hello).toMatchObject({ kind: "hello", viewer: { isPerson: false, project: home.work } });
    expect(set).toEqual([]);
    const { status, body } = await ask("/api/do", { method: "POST", body: "{}", token });
    expect([status, body]).toEqual([403, expect.stringContaining("only a person")]);
    const explained = async (query: string) =>
      JSON.parse((await ask(`/api/explain?${query}`, { token })).body);
    for (const query of ["kind=agent&name=bob", `kind=agent&name=${bob}`, `kind=file&name=${home.work}/a.ts`])
      expect(await explained(query), query).toEqual({
        ok: false,
        text: expect.stringContaining("of another one"),
      });
    expect((await explained(`kind=file&name=${home.work}/new.ts`)).text).not.toContain("of another one");
  });

  test("an agent reads the timeline of its own project, whatever its page asks for", async () => {
    const lanes = async (env: Record<string, string>, project: string) => {
      const { ask, enter } = await serve(env);
      const { token } = await enter();
      const query = new URLSearchParams({ from: String(Date.now() - 3_600_000), project });
      const { status, body } = await ask(`/api/timeline?${query}`, { token });
      expect(status).toBe(200);
      return (JSON.parse(body).timeline.lanes as { readonly name: string }[]).map(({ name }) => name);
    };
    expect(await lanes({}, "elsewhere")).toEqual(["bob"]);
    expect(await lanes({ KITE_SESSION: alice }, "elsewhere")).not.toContain("bob");
  });

  test("a resource is released in the project that the page names, wherever kite web began", async () => {
    const { ask, enter } = await serve();
    const { token } = await enter();
    const client = await home.connect();
    const taken = await client.ask({ type: "file_lock", id: bob, resource: "@db" });
    expect(taken).toMatchObject({ ok: true, path: "@db" });
    const body = JSON.stringify({ deed: "unlock", file: "@db", project: "elsewhere" });
    const said = await ask("/api/do", { method: "POST", body, token });
    expect(JSON.parse(said.body)).toEqual({ ok: true, text: "released: @db" });
  });

  test("a person may want one project alone", async () => {
    const { port, enter } = await serve({}, ["--project", home.work]);
    const { token } = await enter();
    expect((await firstRows(port, token, "sessions")).set).toEqual([]);
  });

  test("what proves a person never leaves the server", async () => {
    const { ask, enter, port } = await serve();
    const { token, folder } = await enter();
    const secret = readFileSync(home.paths.personToken, "utf8").trim();
    const all = [
      JSON.stringify(await firstRows(port, token, "sessions")),
      (await ask(`/${folder}/page.js`, { token })).body,
      (await ask("/api/explain?kind=agent&name=alice", { token })).body,
    ];
    expect(all.join("\n")).not.toContain(secret);
  });
});

describe("bad input", () => {
  test("is answered, and the server goes on", async () => {
    const { ask, enter } = await serve();
    const { token } = await enter();
    const status = async (path: string, options: AskOptions = {}) =>
      (await ask(path, { token, ...options })).status;
    const post = (body: string) => status("/api/do", { method: "POST", body });
    expect(await post("{")).toBe(400);
    expect(await post('{"deed":"down"}')).toBe(400);
    expect(
      await post(JSON.stringify({ deed: "task_add", description: "x".repeat(70_000), project: "here" })),
    ).toBe(413);
    expect(await status("/api/live?topics=secrets")).toBe(400);
    expect(await status("/api/live")).toBe(400);
    expect(await status("/api/explain?kind=mood&name=x")).toBe(400);
    expect(await status("/api/timeline")).toBe(400);
    expect(await status("/api/timeline?from=yesterday")).toBe(400);
    expect(await status("/api/do", { method: "DELETE" })).toBe(404);
    expect(await status("/", { method: "POST" })).toBe(404);
    expect(await status("/now")).toBe(200);
  });

  test("a sender that leaves in the middle is no fault of the page", async () => {
    const { port, ask } = await serve();
    const [child] = served;
    let err = "";
    child?.stderr.setEncoding("utf8").on("data", piece => {
      err += piece;
    });
    const head = `POST /token HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n`;
    const sender = connect(port, "127.0.0.1");
    sender.write(head);
    // The server reads the body from now on.
    await once(sender, "data");
    sender.destroy();
    expect((await ask("/now")).status).toBe(200);
    for (const one of served.splice(0)) {
      const closed = once(one, "close");
      one.kill("SIGTERM");
      await closed;
    }
    expect(err).toBe("");
  });
});

test("each page has a port of its own: no other server's leftover in a browser reads along", async () => {
  const [one, two] = [await serve(), await serve()];
  expect(one.port).not.toBe(two.port);
});

test("a port that is taken is refused by name, and without one Kite takes another", async () => {
  const { port } = await serve();
  const { code, err } = await home.command(["web", "--port", String(port)]);
  expect([code, err]).toEqual([1, expect.stringContaining(String(port))]);
  expect((await home.command(["web", "--port", "70000"])).err).toContain("--port takes");
});
