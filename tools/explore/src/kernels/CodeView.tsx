// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine code, of which only what is seen is drawn. Lines have colours, and some can be lit.
import { EditorState, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, lineNumbers, ViewPlugin, type ViewUpdate } from '@codemirror/view';
import { useEffect, useRef, useState } from 'preact/hooks';
import { codeOf, type Instruction, type Shown } from '../data';
import { plural } from '../format';

/** The class of a line, which gives its colour, and whether it is lit; of no line where `isLit` is missing. */
export interface Paint {
  classOf: (instruction: Instruction) => string | undefined;
  isLit?: (instruction: Instruction) => boolean;
}

const setPaint = StateEffect.define<Paint>();
const paintField = StateField.define<Paint>({
  create: () => ({ classOf: () => undefined }),
  update: (paint, transaction) => transaction.effects.reduce((last, effect) => effect.is(setPaint) ? effect.value : last, paint),
});

/** Classes of the lines that are seen. */
function painter(code: Instruction[]) {
  const draw = (view: EditorView): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>(), { classOf, isLit } = view.state.field(paintField);
    for (const { from, to } of view.visibleRanges)
      for (let at = from; at <= to;) {
        const line = view.state.doc.lineAt(at), instruction = code[line.number - 1];
        const isInstruction = instruction?.text !== undefined;
        const names = [isInstruction ? classOf(instruction) : 'label', isLit && (isInstruction && isLit(instruction) ? 'lit' : 'unlit')];
        builder.add(line.from, line.from, Decoration.line({ class: names.filter(Boolean).join(' ') }));
        at = line.to + 1;
      }
    return builder.finish();
  };
  return ViewPlugin.fromClass(class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = draw(view);
    }
    update(update: ViewUpdate) {
      if (update.docChanged || update.viewportChanged || update.transactions.some(({ effects }) => effects.length > 0))
        this.decorations = draw(update.view);
    }
  }, { decorations: (plugin) => plugin.decorations });
}

const textOf = ({ label, text }: Instruction) => label !== undefined ? `${label}:` : `    ${text}`;

/** The code of a kernel, once it is unpacked; undefined before. */
export function useCode(shown: Shown, name: string | undefined): Instruction[] | undefined {
  const [code, setCode] = useState<{ of: string; instructions: Instruction[] }>();
  const key = `${shown.index} ${shown.target.name} ${name}`;
  useEffect(() => {
    let isWanted = true;
    if (name !== undefined)
      codeOf(shown, name).then((instructions) => isWanted && setCode({ of: key, instructions }));
    return () => { isWanted = false; };
  }, [key]);
  return code?.of === key ? code.instructions : undefined;
}

export function CodeView(props: { code: Instruction[]; paint: Paint; pick?: (instruction: Instruction) => void }) {
  const { code, paint } = props;
  const parent = useRef<HTMLDivElement>(null), view = useRef<EditorView | undefined>(undefined);
  const pick = useRef(props.pick);
  pick.current = props.pick;
  useEffect(() => {
    const own = new EditorView({
      parent: parent.current!,
      state: EditorState.create({
        doc: code.map(textOf).join('\n'),
        extensions: [
          lineNumbers(), paintField, painter(code), EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ 'aria-label': 'Machine code', tabindex: '0' }),
          EditorView.domEventHandlers({
            click: (event, editor) => {
              const at = editor.posAtCoords(event);
              const instruction = at === null ? undefined : code[editor.state.doc.lineAt(at).number - 1];
              if (instruction?.text !== undefined)
                pick.current?.(instruction);
            },
          }),
        ],
      }),
    });
    view.current = own;
    return () => own.destroy();
  }, [code]);
  useEffect(() => {
    const own = view.current!;
    own.dispatch({ effects: setPaint.of(paint) });
    const first = paint.isLit ? code.findIndex((one) => one.text !== undefined && paint.isLit!(one)) : -1;
    if (first >= 0)
      own.dispatch({ effects: EditorView.scrollIntoView(own.state.doc.line(first + 1).from, { y: 'start', yMargin: 60 }) });
  }, [code, paint]);
  const instructions = code.filter(({ text }) => text !== undefined);
  const lit = paint.isLit ? instructions.filter(paint.isLit).length : undefined;
  return <div class="codeview">
    <p class="quiet" role="status" data-lit={lit} data-all={instructions.length}>
      {lit === undefined ? plural(instructions.length, 'instruction') : `${plural(lit, 'instruction')} of ${instructions.length} lit`}
    </p>
    <div class="code" ref={parent} />
  </div>;
}
