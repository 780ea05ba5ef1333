// Subpath ./report: a log as people read it.
export { guardReport } from './report/guard-report.js';
export { type ReportHtmlOptions, reportHtml } from './report/report-html.js';
export { type ReportMarkdownOptions, reportMarkdown } from './report/report-markdown.js';
export type {
  CallEntry,
  EndEntry,
  GuardReport,
  HandoffEntry,
  InputEntry,
  OtherEntry,
  ReportApproval,
  ReportCounts,
  ReportDecision,
  ReportEntry,
  ReportGuardrail,
  ReportItem,
  ReportOptions,
  ReportRun,
  ReportShare,
  ReportStand,
  ReportText,
  ReportVerdict,
  ResumeEntry,
  TurnEntry,
} from './report/types.js';
