// Readies a field to be typed over; true if that has set it already, as with a list of choices.
((found, text) => {
  const field = (found.matches('label') && found.control) || found;
  if (field.matches(':disabled, :read-only:not(select)')) throw new Error('the field cannot be written');
  field.scrollIntoView({block: 'nearest', behavior: 'instant'});
  field.focus();
  if (field.matches('select')) {
    const choice = [...field.options].find((one) => one.value === text || one.label.trim() === text);
    if (!choice) throw new Error('there is no choice ' + text);
    field.value = choice.value;
    field.dispatchEvent(new Event('input', {bubbles: true}));
    field.dispatchEvent(new Event('change', {bubbles: true}));
    return [true];
  }
  if (field.select) field.select();
  else getSelection().selectAllChildren(field);
  if (document.activeElement !== field) throw new Error('the field does not take the focus');
  return [false];
})
