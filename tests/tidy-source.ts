import { type TransformOptions, transformSync } from "esbuild";

/** What tidy.test.ts reads out of a source file. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export interface Import {
  /** As written; null where it is computed. */
  readonly from: string | null;
  /** Gone after compiling. */
  readonly typeOnly: boolean;
}

/**
 * The code without comments, and each string, template and pattern replaced by `"n"`, its number in `strings`. Each line
 * of the source is a line of it.
 */
export interface Code {
  readonly text: string;
  readonly strings: readonly string[];
}

/** Whether a `/` after this code begins a pattern, not a division. */
const beforePattern =
  /(?:^|[([{,;=:!&|?+\-*%~^<>]|\b(?:return|typeof|case|in|of|do|else|void|await|yield))\s*$/;

/** Returns a source without elements of JSX, which the reader below does not know: its imports as written, then the rest as compiled. */
export function withoutElements({ path, text }: Source): Source {
  if (!path.endsWith(".tsx")) return { path, text };
  const imports = text.match(/^(?:import|export) [^;]*? from "[^"]*";$/gm) ?? [];
  const options = {
    loader: "tsx",
    jsx: "transform",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  };
  const { code } = transformSync(
    text.replace(/^import [^;]*? from "[^"]*";$/gm, ""),
    options as TransformOptions,
  );
  return { path, text: `${imports.join("\n")}\n${code}` };
}

/** Reads a file from left to right; knows strings, nested templates, comments and patterns, and nothing else. */
export function codeOf(source: string): Code {
  const strings: string[] = [];
  const braces: number[] = [];
  let text = "";
  let i = 0;

  const string = (content: string) => {
    text += `${lineEndsOf(content)}"${strings.length}"`;
    strings.push(content);
  };
  /** Reads on to an unescaped `end`, or to the `${` of a template. */
  const readTo = (end: RegExp): string => {
    const start = i;
    while (i < source.length && !end.test(source.slice(i, i + 2))) i += source[i] === "\\" ? 2 : 1;
    return source.slice(start, i);
  };
  const template = () => {
    string(readTo(/^(?:`|\$\{)/));
    if (source[i] === "`") i += 1;
    else {
      i += 2;
      text += "+(";
      braces.push(0);
    }
  };

  while (i < source.length) {
    const two = source.slice(i, i + 2);
    const one = two.slice(0, 1);
    if (two === "//") readTo(/^\n/);
    else if (two === "/*") {
      const end = source.indexOf("*/", i + 2) + 2;
      text += ` ${lineEndsOf(source.slice(i, end))}`;
      i = end;
    } else if (one === '"' || one === "'") {
      i += 1;
      string(readTo(one === '"' ? /^"/ : /^'/));
      i += 1;
    } else if (one === "`") {
      i += 1;
      template();
    } else if (one === "/" && beforePattern.test(text.slice(-20))) {
      i += 1;
      let content = "";
      for (let inClass = false; i < source.length && (inClass || source[i] !== "/"); i++) {
        if (source[i] === "[") inClass = true;
        if (source[i] === "]") inClass = false;
        if (source[i] === "\\") content += source[i++];
        content += source[i];
      }
      i += 1;
      string(content);
    } else if (one === "}" && braces.at(-1) === 0) {
      braces.pop();
      i += 1;
      text += ")+";
      template();
    } else {
      const depth = braces.at(-1);
      if (depth !== undefined && one === "{") braces[braces.length - 1] = depth + 1;
      if (depth !== undefined && one === "}") braces[braces.length - 1] = depth - 1;
      text += one;
      i += 1;
    }
  }
  return { text, strings };
}

function lineEndsOf(text: string): string {
  return "\n".repeat(text.split("\n").length - 1);
}

/** Everything a file imports: static, dynamic, for types alone, `export ... from`, `require`. */
export function importsOf({ text, strings }: Code): Import[] {
  const imports: Import[] = [];
  const named = (number: string | undefined) => strings[Number(number)] ?? null;
  for (const match of text.matchAll(/(?<![.\w$])(?:import|export)\b([\s\w$*{},]*?)\bfrom\s*"(\d+)"/g)) {
    imports.push({ from: named(match[2]), typeOnly: /^\s+type\s*[\w${*]/.test(match[1] ?? "") });
  }
  for (const match of text.matchAll(/(?<![.\w$])import\s*"(\d+)"/g)) {
    imports.push({ from: named(match[1]), typeOnly: false });
  }
  for (const match of text.matchAll(
    /(\btypeof\s+)?(?<![.\w$])(?:import|require)\s*\(\s*(?:"(\d+)"\s*[,)])?/g,
  )) {
    imports.push({ from: match[2] === undefined ? null : named(match[2]), typeOnly: match[1] !== undefined });
  }
  return imports;
}
