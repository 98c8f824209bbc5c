/** An attachment that magnifies by the wheel; Svelte's own wheel handlers are passive and would scroll the page too. */
export const wheel = (magnify: (factor: number, x: number, y: number) => void) => (node: HTMLElement) => {
  const turn = (event: WheelEvent) => {
    event.preventDefault();
    const area = node.getBoundingClientRect();
    magnify(Math.exp(-event.deltaY * 0.0016), event.clientX - area.left, event.clientY - area.top);
  };
  node.addEventListener('wheel', turn, { passive: false });
  return () => node.removeEventListener('wheel', turn);
};
