import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type PatchedFile, readPatch } from "../../hooks/shell/named-files.ts";
import { limits } from "../../protocol/limits.ts";
import { codexPayload } from "./codex-events.ts";

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
      name.map(path => ({ lines: [`*** Delete File: ${path}`], files: [{ path, does: "delete" as const }] })),
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
