// Buttons that copy the command beside them; where that is not allowed it is selected.

async function copied(text, element, say) {
  try {
    await navigator.clipboard.writeText(text);
    say.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(element);
    say.textContent = 'Selected';
  }
}

for (const button of document.querySelectorAll('.copies')) button.addEventListener('click', () => copied(button.previousElementSibling.textContent, button.previousElementSibling, button));
