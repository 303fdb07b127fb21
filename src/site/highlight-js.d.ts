/** Types for the used part of highlight.js. The library's own types would add the types of a browser to every file. */
type Grammar = unknown;

declare const highlighter: Grammar & {
  registerLanguage(name: string, grammar: Grammar): void;
  highlight(code: string, options: { language: string }): { value: string };
};

export default highlighter;
