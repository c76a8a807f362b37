import { describe } from "vitest";
import { gemini } from "./gemini.ts";
import { scenes } from "./scenes.ts";

describe("the real Gemini CLI", () => scenes(gemini));
