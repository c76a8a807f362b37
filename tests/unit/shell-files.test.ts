/** Which files a patch and a shell line write, wipe and move. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { namedFiles, type PatchedFile, readPatch } from "../../hooks/shell/named-files.ts";
import { filesWritten } from "../../hooks/shell/written.ts";
import { topFolder } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import { codexPayload } from "./codex-events.ts";

const env = new Map([["HOME", "/h"]]);

/** What a line wipes and edits: `rm: wipes a`, with paths as seen from `/p`, where it begins. */
function named(line: string): readonly string[] {
  const { wiped, edited, rewritten } = namedFiles(line, "/p", env);
  const near = (path: string) => path.replaceAll(topFolder, "TOP").replace(/^\/p\//, "");
  return [
    ...wiped.map(({ name, path, isDeep, copied }) => {
      const from = copied === undefined ? "" : ` where ${near(copied.from)} has it for ${near(copied.to)}`;
      return `${name}: wipes ${near(path)}${isDeep ? "/**" : ""}${from}`;
    }),
    ...edited.map(({ name, path, isMoved }) => `${name}: ${isMoved ? "moves" : "edits"} ${near(path)}`),
    ...rewritten.map(({ name, path }) => `${name}: rewrites ${near(path)}`),
  ];
}

test("a patch that cannot be read is said, for the trail", () => {
  const unread = (line: string) => namedFiles(line, "/p", env).unread;
  expect(unread("apply_patch '*** Begin Patch\n*** Add File: a\n*** End Patch'")).toBeNull();
  expect(unread("apply_patch 'a'")).toContain("first line");
  expect(unread('apply_patch "$PATCH"')).toContain("the shell alone");
  expect(unread("rm a")).toBeNull();
});

describe("what the plain commands of a line wipe, change and move", () => {
  test.each<[line: string, ...files: string[]]>([
    ["rm a b", "rm: wipes a", "rm: wipes b"],
    [
      "cd src && apply_patch <<'E'\n*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Delete File: b\n*** End Patch\nE",
      "apply_patch: wipes src/b",
      "apply_patch: edits src/a",
    ],
    [
      "apply_patch '*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Add File: /c\n+x\n*** End Patch'",
      "apply_patch: edits b",
      "apply_patch: edits /c",
      "apply_patch: moves a",
    ],
    ['apply_patch "$PATCH"'],
    ["apply_patch < a.patch"],
    ["rm -f a -- -b", "rm: wipes a", "rm: wipes -b"],
    ["rm a -rf", "rm -r: wipes a/**"],
    ["rm -rf src/", "rm -r: wipes src//**"],
    ["rm -- *.ts", "rm: wipes *.ts"],
    ["cd src && rm a", "rm: wipes src/a"],
    ["cd $DIR && rm a"],
    ["cd $DIR && rm /x/a", "rm: wipes /x/a"],
    ['cd "$(git rev-parse --show-toplevel)" && rm a', "rm: wipes TOP/a"],
    ["rm $FILE"],
    ["rm ~/a", "rm: wipes /h/a"],
    ["rm {a,b}", "rm: wipes a", "rm: wipes b"],
    ["for f in a b; do rm $f; done", "rm: wipes a", "rm: wipes b"],
    ["echo a | xargs rm -f", "rm: wipes a"],
    ["git ls-files | xargs rm"],
    ["find . -name a -exec rm {} +"],
    ["sudo rm a; env X=1 timeout 5 /bin/rm b", "rm: wipes a", "rm: wipes b"],
    ["sh -c 'rm a'", "rm: wipes a"],
    ["echo rm a"],
    ["unlink a", "unlink: wipes a"],
    ["rmdir a"],
    ["truncate -s 0 a --size=1 b", "truncate: wipes a", "truncate: wipes b"],
    ["cp a b", "cp: wipes b", "cp: wipes b/a"],
    ["cp x/a y/b d", "cp: wipes d/a", "cp: wipes d/b"],
    ["cp -t d a", "cp: wipes d", "cp: wipes d/a"],
    ["cp -n a b"],
    ["cp --backup a b"],
    ["cp -r s d", "cp: wipes d", "cp: wipes d/s/** where . has it for d"],
    ["cp -a s/. d", "cp: wipes d", "cp: wipes d/./** where s/. has it for d"],
    ["cp gen/*.ts src", "cp: wipes src/*.ts where gen has it for src"],
    ["cp a"],
    ["mv a b", "mv: wipes b", "mv: wipes b/a", "mv: moves a"],
    ["mv -n a b", "mv: moves a"],
    ["mv src/ lib", "mv: wipes lib", "mv: wipes lib/src", "mv: moves src/"],
    ["mv a b d", "mv: wipes d/a", "mv: wipes d/b", "mv: moves a", "mv: moves b"],
    ["echo x | tee a b >/dev/null 2>&1", "tee: rewrites a", "tee: rewrites b"],
    ["cat b > a", ">: rewrites a"],
    [": > a; ls 2> b &> c >| d", ">: rewrites a", ">: rewrites b", ">: rewrites c", ">: rewrites d"],
    ["cd src && git show HEAD:a > a", ">: rewrites src/a"],
    ["cat > a <<'E'\nx\nE", ">: rewrites a"],
    ["echo x >> a; (ls; pwd) &>> b", ">>: edits a", ">>: edits b"],
    ["ls >&2; ls > $OUT"],
    ["echo x | tee -a a", "tee -a: edits a"],
    ["sed -i s/x/y/ a b", "sed -i: edits a", "sed -i: edits b"],
    ["sed -i.bak -e s/x/y/ a", "sed -i: edits a"],
    ["sed -Ei 's/x/y/' a", "sed -i: edits a"],
    ["sed -n -i -f script a", "sed -i: edits a"],
    ["sed --in-place=.bak s/x/y/ a", "sed -i: edits a"],
    ["sed -n 1,5p a"],
    ["sed 's/-i/x/' a"],
    ["perl -pi -e 's/x/y/' a", "perl -i: edits a"],
    ["perl -i.bak -pe 's/x/y/' a b", "perl -i: edits a", "perl -i: edits b"],
    ["perl -pe 's/x/y/' a"],
    ["perl -i script a", "perl -i: edits a"],
    ["npx prettier --write a.ts", "prettier: edits a.ts"],
    ["npx prettier --config p.json --write a.ts b.ts", "prettier: edits a.ts", "prettier: edits b.ts"],
    ["yarn prettier -w a.ts", "prettier: edits a.ts"],
    ["npx prettier a.ts"],
    ["npx prettier --write 'src/**/*.ts'"],
    ["npx biome check --write a.ts", "biome: edits a.ts"],
    ["biome ci a.ts --write"],
    ["npx eslint --fix a.ts", "eslint: edits a.ts"],
    ["ruff format a.py; ruff check a.py", "ruff: edits a.py"],
    ["black --check a.py; black a.py", "black: edits a.py"],
    ["gofmt -w a.go; gofmt b.go", "gofmt: edits a.go"],
    ["npm run lint -- --write a.ts"],
    ["unterminated 'rm a"],
    [
      "npm install",
      "npm install: edits package.json",
      "npm install: edits package-lock.json",
      "npm install: edits npm-shrinkwrap.json",
    ],
    ["cd web && pnpm add -D x", "pnpm add: edits web/package.json", "pnpm add: edits web/pnpm-lock.yaml"],
    ["pnpm -C web remove x", "pnpm remove: edits web/package.json", "pnpm remove: edits web/pnpm-lock.yaml"],
    ["yarn", "yarn install: edits package.json", "yarn install: edits yarn.lock"],
    ["yarn --cwd=web/ up x", "yarn up: edits web/package.json", "yarn up: edits web/yarn.lock"],
    [
      "corepack yarn workspace web add x",
      "yarn workspace: edits package.json",
      "yarn workspace: edits yarn.lock",
    ],
    ["bun a x", "bun a: edits package.json", "bun a: edits bun.lock", "bun a: edits bun.lockb"],
    ["uv add x", "uv add: edits pyproject.toml", "uv add: edits uv.lock"],
    ["poetry update", "poetry update: edits pyproject.toml", "poetry update: edits poetry.lock"],
    ["sudo timeout 60 cargo add x", "cargo add: edits Cargo.toml", "cargo add: edits Cargo.lock"],
    [
      "cargo update --manifest-path core/Cargo.toml",
      "cargo update: edits core/Cargo.toml",
      "cargo update: edits core/Cargo.lock",
    ],
    [
      "go mod tidy; go get x",
      "go mod tidy: edits go.mod",
      "go mod tidy: edits go.sum",
      "go get: edits go.mod",
      "go get: edits go.sum",
    ],
    ["bundle", "bundle install: edits Gemfile", "bundle install: edits Gemfile.lock"],
    [
      "composer -d app require x",
      "composer require: edits app/composer.json",
      "composer require: edits app/composer.lock",
    ],
    ["npm install $PACKAGE --no-save"],
    ["npm i -g x; npm ci; npm test; npm run add"],
    ["yarn --version; yarn build; yarn global add x; pnpm i --frozen-lockfile"],
    ["cargo install x; cargo build; go install x; go build; uv pip install x; uv sync --frozen"],
    ['npm --prefix "$DIR" install; bundle -v; bundle exec rake'],
  ])("%s", (line, ...files) => {
    expect(named(line)).toEqual(files);
  });

  test("the first paths of a line with too many", () => {
    const many = Array.from({ length: limits.namedFilesMax + 9 }, (_, i) => `f${i}`).join(" ");
    expect(named(`rm ${many}`)).toHaveLength(limits.namedFilesMax);
    expect(named(`sed -i s/x/y/ ${many}; rm a`)).toHaveLength(limits.namedFilesMax);
    expect(named(`rm ${many}; sed -i s/x/y/ a`)).toHaveLength(limits.namedFilesMax);
  });
});

describe("a patch", () => {
  const patch = (...lines: readonly string[]) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
  const filesOf = (text: string) => readPatch(text).files.map(({ does, path }) => `${does} ${path}`);

  describe("the files of a recorded patch", () => {
    test.each([
      ["add", "add /home/ana/shop/src/new.ts"],
      ["delete-code-mode", "delete src/new.ts"],
      ["move", "move src/pay.ts", "add src/billing/pay.ts"],
      ["three-files-code-mode", "change src/auth.ts", "change src/pay.ts", "add src/new.ts"],
      ["update-absolute", "change /home/ana/shop/src/auth.ts"],
    ])("%s", (name, ...files) => {
      const { tool_input: input } = codexPayload(`PreToolUse--apply_patch-${name}`) as {
        tool_input: { command: string };
      };
      expect(filesOf(input.command)).toEqual(files);
      expect(readPatch(input.command).unread).toBeNull();
    });
  });

  describe("a line of a file's text is no header", () => {
    test("in a change", () => {
      const text = patch(
        "*** Update File: a",
        "@@",
        " *** Add File: b",
        "-*** Delete File: c",
        "+*** Add File: d",
      );
      expect(filesOf(text)).toEqual(["change a"]);
    });

    test("in a new file", () => {
      expect(filesOf(patch("*** Add File: a", "+*** Delete File: b"))).toEqual(["add a"]);
    });

    test("behind the last line", () => {
      expect(filesOf(`${patch("*** Add File: a")}\n*** Delete File: b`)).toEqual(["add a"]);
    });
  });

  describe("what cannot be read is said", () => {
    test.each([
      ["no first line", "*** Add File: a\n*** End Patch", "first line"],
      ["no last line", "*** Begin Patch\n*** Add File: a", "last line"],
      ["a header of another version", patch("*** Rename File: a"), "header"],
      ["a move of nothing", patch("*** Move to: a"), "header"],
      ["an empty name", patch("*** Add File:  "), "header"],
      ["a name that is too long", patch(`*** Add File: ${"a".repeat(limits.pathBytes + 1)}`), "path"],
    ])("%s", (_what, text, words) => {
      expect(readPatch(text).unread).toContain(words);
    });

    test("more files than are read", () => {
      const all = Array.from({ length: limits.patchFilesMax + 1 }, (_, n) => `*** Delete File: f${n}`);
      expect(readPatch(patch(...all.slice(1)))).toMatchObject({ unread: null });
      const { files, unread } = readPatch(patch(...all));
      expect(files).toHaveLength(limits.patchFilesMax);
      expect(unread).toContain(`more than ${limits.patchFilesMax}`);
    });
  });

  test("lines may end as on another system, and blanks may stand around a header", () => {
    const text = patch("  *** Add File: a b.ts ", "+x", " *** Delete File: c").replaceAll("\n", "\r\n");
    expect(filesOf(text)).toEqual(["add a b.ts", "delete c"]);
  });

  const name = fc.stringMatching(/^[\w./ -]{0,20}\w$/).filter(path => path === path.trim());
  const content = fc.array(
    fc
      .tuple(fc.constantFrom(" ", "+", "-"), fc.string())
      .map(([sign, text]) => sign + text.replace(/[\r\n]/g, "")),
  );

  test("every file of every patch is named, whatever is in the files", () => {
    const one: fc.Arbitrary<{ readonly lines: readonly string[]; readonly files: readonly PatchedFile[] }> =
      fc.oneof(
        fc.tuple(name, content).map(([path, text]) => ({
          lines: [`*** Add File: ${path}`, ...text.map(line => `+${line.slice(1)}`)],
          files: [{ path, does: "add" as const }],
        })),
        fc.tuple(name, content).map(([path, text]) => ({
          lines: [`*** Update File: ${path}`, "@@", ...text],
          files: [{ path, does: "change" as const }],
        })),
        fc.tuple(name, name, content).map(([path, to, text]) => ({
          lines: [`*** Update File: ${path}`, `*** Move to: ${to}`, "@@", ...text],
          files: [
            { path, does: "move" as const },
            { path: to, does: "add" as const },
          ],
        })),
        name.map(path => ({
          lines: [`*** Delete File: ${path}`],
          files: [{ path, does: "delete" as const }],
        })),
      );
    fc.assert(
      fc.property(fc.array(one, { maxLength: 20 }), parts => {
        const text = patch(...parts.flatMap(({ lines }) => lines));
        expect(readPatch(text)).toEqual({ files: parts.flatMap(({ files }) => files), unread: null });
      }),
    );
  });

  test("no text makes it throw, or name a file that no path can be", () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom(
        "*** Begin Patch",
        "*** End Patch",
        "*** Add File: ",
        "*** Update File: a",
        "*** Move to: ",
        "\0",
      ),
    );
    fc.assert(
      fc.property(
        fc.array(piece).map(lines => lines.join("\n")),
        text => {
          const { files, unread } = readPatch(text);
          for (const { path } of files) expect(path).toMatch(/^[^\0\n]+$/);
          if (!text.includes("*** End Patch")) expect(unread).not.toBeNull();
        },
      ),
    );
  });
});

// Which files of one folder a shell line writes.
describe("files that a line writes", () => {
  const home = "/home/dev";
  const env = new Map([
    ["HOME", home],
    ["KITE_HOME", `${home}/.kite`],
  ]);
  const names = (line: string, cwd = "/p") =>
    filesWritten(line, cwd, ".kite", env).map(path => path.replace(`${home}/.kite`, "K"));

  test.each<[string, readonly string[]]>([
    ["git log > ~/.kite/trusted.json", ["K/trusted.json"]],
    ["git log >> $HOME/.kite/off", ["K/off"]],
    ["git log 2> ~/.kite/config.json", ["K/config.json"]],
    ["git log &> ~/.kite/config.json", ["K/config.json"]],
    ["git status; : > $KITE_HOME/off", ["K/off"]],
    ["{ git log; echo; } > ~/.kite/off", ["K/off"]],
    ["> ~/.kite/off; git log", ["K/off"]],
    ["cd ~/.kite && git init && touch off down", ["K/off", "K/down"]],
    ["cd /x; touch ../home/dev/.kite/./off", ["K/off"]],
    ["git log | tee -a ~/.kite/trusted.json", ["K/trusted.json"]],
    ["rm -rf ~/.kite", ["K"]],
    ["rm -f -- ~/.kite/trusted.json", ["K/trusted.json"]],
    ["sudo rm ~/.kite/tr*", ["K/tr*"]],
    ["rm ~/.kite/$X", ["K"]],
    ["for f in off down; do touch ~/.kite/$f; done", ["K/off", "K/down"]],
    ["mv ~/.kite/trusted.json /tmp/away", ["K/trusted.json"]],
    ["cp forged.json ~/.kite/trusted.json", ["K/trusted.json"]],
    ["cp -t ~/.kite trusted.json", ["K"]],
    ["install --target-directory=$HOME/.kite a b", ["K"]],
    ["ln -sf /tmp/x ~/.kite/config.json", ["K/config.json"]],
    ["sed -i s/a/b/ ~/.kite/config.json", ["K/config.json"]],
    ["perl -pi -e 1 ~/.kite/config.json", ["K/config.json"]],
    ["dd if=/dev/null of=$HOME/.kite/trusted.json", ["K/trusted.json"]],
    ["find ~/.kite -name 'tr*' -delete", ["K"]],
    ["bash -c 'rm ~/.kite/off'", ["K/off"]],
    ["bash <<'E'\nrm ~/.kite/off\nE", ["K/off"]],
  ])("%j writes", (line, written) => expect(names(line)).toEqual(written));

  test.each([
    "cat ~/.kite/config.json | git hash-object --stdin",
    "cp ~/.kite/config.json /tmp/mine",
    "git diff < ~/.kite/config.json",
    "sed -n 1p ~/.kite/config.json",
    "ls ~/.kite; git status",
    "find ~/.kite -name off",
    "rm .kite.bak ~/.kites/off",
    "rm $X/off",
    "echo 'rm ~/.kite/off'",
    "git commit -m 'touch ~/.kite/off'",
  ])("%j writes none", line => expect(names(line)).toEqual([]));

  test("a relative name counts where the line is", () => {
    expect(names("rm off && git log", `${home}/.kite`)).toEqual(["K/off"]);
  });

  test("many files cost no more than the bound", () => {
    const line = `git log; rm ${Array.from({ length: 5_000 }, (_, n) => `~/.kite/${n}`).join(" ")}`;
    expect(names(line)).toHaveLength(100);
  });
});
